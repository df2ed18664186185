import BusCluster
import BusLog
import Logging

/// Looks for the replica that a member lacks: in its own copies, then with the members that are present.
struct ReplicaSearch {
    enum Finding {
        /// An earlier one of this member's.
        case own(Replica)
        /// A member's that is present.
        case member(Replica)
        /// Nobody has one. `mayBeginAnew`: whoever is present waits for one as well.
        case nobody(mayBeginAnew: Bool)
    }

    let source: ReplicaSource
    let logger: Logger
    private var isAsking = false
    /// What was said already.
    private var told: Set<String> = []

    init(source: ReplicaSource, logger: Logger) {
        (self.source, self.logger) = (source, logger)
    }

    /// Takes the next step; nil: there is nothing yet.
    ///
    /// - Parameter own: Finds what this member has of a place, or before; or the first that it has up to another.
    mutating func replica(
        _ lack: ReplicaLack, _ coordinator: ClusterCoordinator,
        _ own: (_ wanted: Int, _ most: Int) throws(LogFailure) -> Replica?
    ) throws(LogFailure) -> Finding? {
        if !isAsking {
            if let most = lack.most, let replica = try own(lack.wanted ?? most, most) {
                return .own(replica)
            }
            coordinator.askMembers()
            isAsking = true
        }
        guard let answer = coordinator.listed else { return nil }
        isAsking = false
        guard case .success(let members) = answer else { return nil }
        let others = members.filter { $0.name != source.settings.member }
        var reasons: [String] = []
        if let replica = source.replica(
            from: others, trimmedBefore: lack.least, tell: { reasons.append($0) })
        {
            return .member(replica)
        }
        for reason in reasons where told.insert(reason).inserted {
            logger.warning("\(reason)", metadata: LogKind.otherCopy.metadata)
        }
        return .nobody(mayBeginAnew: ClusterMember.canBeginAnew(beside: others))
    }
}
