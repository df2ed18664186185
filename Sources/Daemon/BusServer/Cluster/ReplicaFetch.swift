import BusCluster
import BusSystem
import Synchronization

/// Gets the replica of another member beside the start, which goes on telling the service manager what it waits for, and can be
/// stopped.
final class ReplicaFetch: Sendable {
    /// `@unchecked Sendable`: the worker passes it on and does not access it again.
    struct Outcome: @unchecked Sendable {
        let replica: Replica?
        /// Why those that were asked gave none.
        let reasons: [String]
    }

    /// The members that are asked.
    let others: [OrderedLogMember]
    private let outcome = Mutex<Outcome?>(nil)

    /// - Parameters:
    ///   - place: The shared log has nothing that lies before it.
    ///   - bell: Rings when there is an outcome.
    init(
        from others: [OrderedLogMember], trimmedBefore place: Int, _ source: ReplicaSource, on worker: Worker,
        _ bell: EventFD
    ) {
        self.others = others
        worker.async { [self] in
            var reasons: [String] = []
            let replica = source.replica(from: others, trimmedBefore: place, tell: { reasons.append($0) })
            outcome.withLock { [reasons] in $0 = Outcome(replica: replica, reasons: reasons) }
            bell.ring()
        }
    }

    /// Nil while it goes on.
    func takeOutcome() -> Outcome? { outcome.withLock { $0.take() } }
}
