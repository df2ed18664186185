import BusCluster
import BusLog
import BusSystem
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
    let bell: EventFD
    let logger: Logger
    private let worker = Worker(named: "fluxbus-fetch")
    private var isAsking = false
    private var fetch: ReplicaFetch?
    /// What was said already.
    private var told: Set<String> = []

    init(source: ReplicaSource, bell: EventFD, logger: Logger) {
        (self.source, self.bell, self.logger) = (source, bell, logger)
    }

    /// Takes the next step; nil: there is nothing yet.
    ///
    /// - Parameter own: Finds what this member has of a place, or before; or the first that it has up to another.
    mutating func replica(
        _ lack: ReplicaLack, _ coordinator: ClusterCoordinator,
        _ own: (_ wanted: Int, _ most: Int) throws(LogFailure) -> Replica?
    ) throws(LogFailure) -> Finding? {
        if let fetch {
            guard let outcome = fetch.takeOutcome() else { return nil }
            self.fetch = nil
            if let replica = outcome.replica { return .member(replica) }
            for reason in outcome.reasons where told.insert(reason).inserted {
                logger.warning("\(reason)", metadata: LogKind.otherCopy.metadata)
            }
            return .nobody(mayBeginAnew: ClusterMember.canBeginAnew(beside: fetch.others))
        }
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
        fetch = ReplicaFetch(
            from: members.filter { $0.name != source.settings.member }, trimmedBefore: lack.least, source,
            on: worker, bell)
        return nil
    }
}
