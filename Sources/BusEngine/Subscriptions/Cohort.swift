import BusJSON

/// The subscribers of a shape that are told exactly the same in a turn: same number, same revision before.
///
/// Each event is written once for all of them, and what came together is put into a member's outbox as one piece: when
/// the turn ends, or before anything else is written for it. So the cost of a commit does not grow with them, only that
/// of a turn.
final class Cohort {
    /// Runs are as long as this, and one event; then a new one begins.
    static let runSize = 256 << 10

    /// The bytes that members share; each connection knows how far it has been given them.
    @exclusivity(unchecked) var run: ByteWriter
    /// What stands in the events as `sub` and `from`.
    @exclusivity(unchecked) var number = -1
    @exclusivity(unchecked) var from = -1
    @exclusivity(unchecked) private(set) var members: ContiguousArray<Subscription> = []
    /// The shape's other subscribers, who are told one by one.
    @exclusivity(unchecked) private(set) var others: ContiguousArray<Subscription> = []

    init(run: ByteWriter) { self.run = run }

    func add(_ subscription: Subscription) {
        members.append(subscription)
        subscription.connection.cohort = self
        subscription.connection.cohortStart = 0
    }

    func addOther(_ subscription: Subscription) { others.append(subscription) }

    /// Takes out who `leaves` says, to be told one by one.
    func part(_ leaves: (Subscription) -> Bool) {
        members.removeAll { subscription in
            guard leaves(subscription) else { return false }
            leave(subscription)
            others.append(subscription)
            return true
        }
    }

    /// A member's revision before is what all were told last.
    func leave(_ subscription: Subscription) {
        subscription.from = from
        subscription.connection.cohort = nil
    }
}
