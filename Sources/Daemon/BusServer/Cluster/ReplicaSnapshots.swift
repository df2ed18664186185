import BusCluster
import BusEngine
import BusLog
import BusLogic
import BusSystem
import Logging
import Synchronization

/// Takes snapshots of the replica beside the bus, from the copy itself: for starts, which then need not read the whole log, and for
/// members that join.
final class ReplicaSnapshots: Sendable {
    /// A snapshot for members that join.
    struct Made: Sendable {
        let bytes: [UInt8]
        let place: Int
    }

    private let worker = Worker(named: "fluxbus-snap", niceness: 5)
    private let writer: LogWriter
    private let path: String
    private let types: [any StateType]
    private let hashSeed: UInt64
    private let ending: Ending
    private let logger: Logger
    private let bell: EventFD
    private let isTaking = Atomic(false)
    private let made = Mutex<Result<Made, ClusterRefusal>?>(nil)

    private static let partSize = 256 << 10
    private static let rowsAtOnce = 64
    /// One is due after so many bytes of entries: reading them again takes a second or two.
    static let bytesBetween = 32 << 20
    /// Or after so many entries.
    static let entriesBetween = 50_000

    init(
        _ writer: LogWriter, path: String, types: [any StateType], hashSeed: UInt64, _ ending: Ending,
        _ bell: EventFD, _ logger: Logger
    ) {
        self.writer = writer
        self.path = path
        self.types = types
        self.hashSeed = hashSeed
        self.ending = ending
        self.bell = bell
        self.logger = logger
    }

    /// Takes one of a place that is in the copy; false while another one is taken.
    func take(at place: Int) -> Bool {
        if isTaking.exchange(true, ordering: .relaxed) { return false }
        worker.async { [self] in
            defer { isTaking.store(false, ordering: .relaxed) }
            if ending.hasBegun { return }
            do throws(LogFailure) {
                guard let replica = try replica(through: place) else { return }
                try Self.write(replica.snapshot(), at: replica.link.place) { (body) throws(LogFailure) in
                    try writer.withFile(body)
                }
                while try writer.withFile({ (file) throws(LogFailure) in
                    try file.trimCopy(budget: Self.rowsAtOnce)
                }) {}
            } catch {
                logger.error("no snapshot: \(error.message)", metadata: LogKind.logTrouble.metadata)
            }
        }
        return true
    }

    /// Makes one of what the copy has up to a place; once the bell rings, `takeMade` returns it.
    func make(through place: Int) {
        worker.async { [self] in
            if ending.hasBegun { return }
            var result: Result<Made, ClusterRefusal> = .failure(
                ClusterRefusal("This member's copy of the bus can't be read; ask another member."))
            do throws(LogFailure) {
                if let replica = try replica(through: place) {
                    result = .success(Made(bytes: replica.snapshot(), place: replica.link.place))
                }
            } catch {
                logger.error(
                    "no snapshot for a member that joins: \(error.message)",
                    metadata: LogKind.logTrouble.metadata)
            }
            made.withLock { $0 = result }
            bell.ring()
        }
    }

    /// What was made, or why there is none. Nil: nothing since it was asked for last.
    func takeMade() -> Result<Made, ClusterRefusal>? { made.withLock { $0.take() } }

    private func replica(through place: Int) throws(LogFailure) -> Replica? {
        try LocalCopy.replica(in: path, through: place, knowing: types, hashSeed: hashSeed, isWhole: false)
    }

    /// Writes a snapshot, part by part: batches are written between them.
    static func write(
        _ bytes: [UInt8], at place: Int,
        _ withFile: ((LogFile) throws(LogFailure) -> Void) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        do throws(LogFailure) {
            try withFile { (file) throws(LogFailure) in try file.beginReplica(place: place) }
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + partSize)
                let part = bytes[start..<end]
                try withFile { (file) throws(LogFailure) in
                    try part.span.withUnsafeBytes { (bytes) throws(LogFailure) in
                        try file.addReplicaPart(bytes)
                    }
                }
                start = end
            }
            try withFile { (file) throws(LogFailure) in try file.endReplica() }
        } catch {
            try? withFile { (file) throws(LogFailure) in file.cancelReplica() }
            throw error
        }
    }

    func drain() { worker.drain() }
}
