import BusJSON

/// The subscribers of a shape that are told exactly the same in a turn: same number, same revision before.
///
/// Each event is written once for all of them, and what came together is put into a member's outbox as one piece: when
/// the turn ends, or before anything else is written for it. So the cost of a commit does not grow with them, only that
/// of a turn.
///
/// Its shape holds it, and holds the subscriptions in it for longer: a cohort ends before one of them leaves. So none of
/// these references is counted, which with many subscribers would be most of what a turn costs.
final class Cohort {
    /// Runs are as long as this, and one event; then a new one begins.
    static let runSize = 256 << 10

    /// The bytes that members share; each connection knows how far it has been given them.
    @exclusivity(unchecked) var run: ByteWriter
    /// Stands in for the run where there are no members.
    private let nothing = ByteWriter(capacity: 0)
    /// What stands in the events as `sub` and `from`.
    @exclusivity(unchecked) var number = -1
    @exclusivity(unchecked) var from = -1
    @exclusivity(unchecked) private(set) var members: ContiguousArray<Unmanaged<Subscription>> = []
    /// The shape's other subscribers, who are told one by one.
    @exclusivity(unchecked) private(set) var others: ContiguousArray<Unmanaged<Subscription>> = []

    init() { run = nothing }

    @inline(__always)
    func add(_ subscription: Subscription, _ connection: Connection) {
        members.append(.passUnretained(subscription))
        connection.cohort = self
        connection.cohortStart = 0
    }

    func addOther(_ subscription: Subscription) { others.append(.passUnretained(subscription)) }

    /// Takes out who `leaves` says, to be told one by one.
    func part(_ leaves: (Subscription, Connection) -> Bool) {
        members.removeAll { member in
            member._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    guard leaves(subscription, connection) else { return false }
                    leave(subscription, connection)
                    others.append(member)
                    return true
                }
            }
        }
    }

    /// A member's revision before is what all were told last.
    @inline(__always)
    func leave(_ subscription: Subscription, _ connection: Connection) {
        subscription.from = from
        connection.cohort = nil
    }

    /// Does something with every member and its connection.
    @inline(__always)
    func forEachMember(_ body: (Subscription, Connection) -> Void) {
        for place in members.indices {
            members[place]._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    body(subscription, connection)
                }
            }
        }
    }

    /// Empties it, to be used again, and gives its run.
    func end() -> ByteWriter {
        members.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
        number = -1
        from = -1
        defer { run = nothing }
        return run
    }
}
