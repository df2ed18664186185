import BusCluster
import BusEngine
import BusLog
import BusLogic
import BusMachine

/// What a member has of the bus on its own disk: replicas of earlier places, and the entries of the shared log behind them.
enum LocalCopy {
    /// The replica as the copy has it, at a place at the latest; nil where it has none that old.
    ///
    /// - Parameters:
    ///   - isOldest: The earliest that it has.
    ///   - isWhole: The copy reaches back to the beginning of the log, so that a new replica will do.
    static func replica(
        in path: String, through most: Int = .max, isOldest: Bool = false, knowing types: [any StateType],
        hashSeed: UInt64,
        isWhole: Bool
    ) throws(LogFailure) -> Replica? {
        let reader = try LogReader(path: path)
        var replica: Replica?
        let places = try reader.replicas()
        for place in isOldest ? places.reversed() : places where place <= most {
            var bytes: [UInt8] = []
            do throws(LogFailure) {
                try reader.forEachReplicaPart(of: place) { bytes.append(contentsOf: $0) }
            } catch {
                // An older one, and what follows it, will do as well.
                guard error.kind == .damaged else { throw error }
                continue
            }
            replica = try restored(bytes, path, knowing: types, hashSeed: hashSeed)
            break
        }
        if replica == nil, isWhole { replica = blank(knowing: types, hashSeed: hashSeed) }
        guard let replica else { return nil }
        if isOldest { return replica }
        try reader.forEachSharedBatch(behind: replica.link.place, through: most) {
            (_, bytes) throws(LogFailure) in
            try apply(Array(bytes), to: replica, through: most, path)
        }
        return replica
    }

    private static func apply(
        _ bytes: [UInt8], to replica: Replica, through most: Int, _ path: String
    ) throws(LogFailure) {
        guard let entries = OrderedEntry.decode(all: bytes) else {
            throw damaged(path, "an entry can't be read")
        }
        for entry in entries where entry.place > replica.link.place && entry.place <= most {
            do throws(ReplicaStop) {
                _ = try replica.apply(entry)
            } catch {
                // Nothing is wrong with the copy: a newer version goes on with it.
                if case .newerRules = error { throw LogFailure(.inUse, path: path, error.message) }
                throw damaged(path, error.message)
            }
        }
    }

    static func restored(
        _ bytes: [UInt8], _ path: String, knowing types: [any StateType], hashSeed: UInt64
    ) throws(LogFailure) -> Replica {
        do throws(TransferFailure) {
            return try bytes.span.withUnsafeBytes { (bytes) throws(TransferFailure) in
                try Replica(restoring: bytes, knowing: types, hashSeed: hashSeed) { SharedCommits($0) }
            }
        } catch {
            throw damaged(path, error.message)
        }
    }

    /// A bus that has not begun.
    static func blank(knowing types: [any StateType], hashSeed: UInt64) -> Replica {
        let machine = StateMachine(types: [], epoch: "", hashSeed: hashSeed)
        machine.knownTypes = types
        return Replica(machine, isNew: true, sink: SharedCommits(machine))
    }

    private static func damaged(_ path: String, _ what: String) -> LogFailure {
        LogFailure(
            .damaged, path: path,
            "This member's copy of the bus in \(path) is damaged: \(what); move the file away, and the member takes a copy from the others."
        )
    }

    // MARK: - Facts

    /// Bytes as the file has them.
    static func text(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    static func bytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while rest.count >= 2 {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return [] }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

/// Why a copy is not used any more, as the file has it: what the next start needs to begin with another one.
struct DiscardedCopy: Equatable {
    /// The next one may stand at this place at the latest; nil: anywhere.
    let most: Int?
    /// What it holds is not what others made of the log: no bus may begin with it.
    let isWrong: Bool
    let reason: String

    init(most: Int?, isWrong: Bool = false, reason: String) {
        self.most = most
        self.isWrong = isWrong
        self.reason = reason
    }

    var text: String { "\(isWrong ? "!" : most.map(String.init) ?? "-") \(reason)" }

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard let first = parts.first else { return nil }
        self.init(
            most: Int(first), isWrong: first == "!", reason: parts.count > 1 ? String(parts[1]) : "")
    }
}
