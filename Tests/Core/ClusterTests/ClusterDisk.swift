import BusCluster
import BusLogic
import BusMachine

/// A member's local copy: replicas of earlier places, and the entries that were applied since.
struct ClusterDisk {
    private(set) var bases: [(place: Int, bytes: [UInt8])] = []
    private(set) var entries: [OrderedEntry] = []
    var incarnation = 0
    var proof: Evidence?

    private static let history: HistoryLimits = ClusterSimulation.history

    var lastPlace: Int { max(bases.last?.place ?? 0, entries.last?.place ?? 0) }

    mutating func append(_ more: [OrderedEntry], _ replica: Replica) {
        entries += more
        let since = entries.reversed().prefix { $0.place > bases.last?.place ?? 0 }.count
        if since >= 30, replica.link.place == lastPlace {
            bases.append((replica.link.place, replica.snapshot()))
            forgetOld()
        }
    }

    /// Loses up to so many of the last entries, but none that a replica has.
    mutating func loseLast(_ count: Int) {
        let base = bases.last?.place ?? 0
        entries.removeLast(min(count, entries.reversed().prefix { $0.place > base }.count))
    }

    /// As a member's copy, it keeps the last two replicas, and what lies behind the older one.
    private mutating func forgetOld() {
        guard bases.count > 2 else { return }
        bases.removeFirst(bases.count - 2)
        entries.removeAll { $0.place <= bases[0].place }
    }

    /// What it holds at a place at the latest; nil where it has nothing that old.
    func replica(
        through most: Int, build: ClusterBuild, omitting omitted: OmittedRules
    ) throws -> Replica? {
        let replica: Replica
        if let base = bases.last(where: { $0.place <= most }) {
            replica = try Self.restored(base.bytes, build: build, omitting: omitted)
        } else if entries.first.map({ $0.place <= 3 }) ?? bases.isEmpty {
            replica = Replica(try build.machine(), history: Self.history, omitting: omitted)
        } else {
            return nil
        }
        for entry in entries where entry.place > replica.link.place && entry.place <= most {
            _ = try replica.apply(entry)
        }
        return replica
    }

    /// The first that it has, at a place at the latest.
    func oldest(through most: Int, build: ClusterBuild, omitting omitted: OmittedRules) throws -> Replica? {
        try bases.first { $0.place <= most }.map {
            try Self.restored($0.bytes, build: build, omitting: omitted)
        }
    }

    static func restored(
        _ bytes: [UInt8], build: ClusterBuild, omitting omitted: OmittedRules
    ) throws -> Replica {
        try bytes.withUnsafeBytes {
            try Replica(
                restoring: $0, knowing: try build.known(), hashSeed: 1, history: history, omitting: omitted)
        }
    }

    /// The copy starts over with a replica; what was at later places is gone.
    mutating func replace(by replica: Replica) {
        let place = replica.link.place
        bases.removeAll { $0.place >= place }
        entries.removeAll { $0.place > place }
        bases.append((place, replica.snapshot()))
    }
}

/// The types that a member's build has.
enum ClusterBuild {
    case usual
    /// It carries out the same otherwise.
    case other

    func known() throws -> [any StateType] {
        switch self {
        case .usual: []
        case .other: [try OtherCode()]
        }
    }

    /// The bus as it begins.
    func machine() throws -> StateMachine {
        let types = self == .other ? try known() : try ClusterTypes.load()
        let machine = StateMachine(types: types, epoch: "e0", hashSeed: 1)
        for name in ["a", "b", "c", "w", "t"] {
            let details = CommitDetails()
            details.created = [try machine.create("counter/\(name)", nil, by: .daemon)]
            machine.commit(details)
        }
        return machine
    }
}
