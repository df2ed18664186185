import BusJSON

/// The subscribers of a group that receive exactly the same bytes in a turn: same number, same previous revision.
///
/// Each event is written once for all of them, into a shared run. So the cost of a commit does not grow
/// with them, only that of a turn.
///
/// Its subscriber group holds it, and holds its subscriptions for longer: it ends before one of them leaves. So none of
/// these references is counted, which with many subscribers would be most of what a turn costs.
final class MulticastGroup {
    /// A run ends at this length, plus one event; then a new one begins.
    static let runSize = 256 << 10

    /// The bytes that members share.
    let run: SharedRun
    /// A placeholder for the run's bytes while there are no members.
    private let nothing = ByteWriter(capacity: 0)
    /// The `sub` and `from` of the events.
    @exclusivity(unchecked) var number = -1
    @exclusivity(unchecked) var from = -1
    /// How many events its members have had together.
    @exclusivity(unchecked) var events = 0
    @exclusivity(unchecked) private(set) var members: ContiguousArray<Unmanaged<Subscription>> = []
    /// The group's other subscribers, which are notified one by one.
    @exclusivity(unchecked) private(set) var others: ContiguousArray<Unmanaged<Subscription>> = []

    init() { run = SharedRun(nothing) }

    @inline(__always)
    func add(_ subscription: Subscription, _ connection: Connection) {
        members.append(.passUnretained(subscription))
        connection.output.join(run)
    }

    func addOther(_ subscription: Subscription) { others.append(.passUnretained(subscription)) }

    /// Removes the members for which `leaves` is true, to be notified one by one.
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

    /// A member's previous revision is that of the last event all received.
    @inline(__always)
    func leave(_ subscription: Subscription, _ connection: Connection) {
        subscription.from = from
        connection.delivery.note(events: events)
        connection.output.leaveRun()
    }

    /// Calls `body` with every member and its connection.
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

    /// Empties it for reuse, and returns the bytes of its run.
    func end() -> ByteWriter {
        members.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
        number = -1
        from = -1
        events = 0
        defer { run.bytes = nothing }
        return run.bytes
    }
}

/// Bytes that are written once for several connections. Each connection knows how far it has them: what accumulates is
/// put into its outbox as one piece, when the turn ends or before anything else is written for it.
final class SharedRun {
    @exclusivity(unchecked) var bytes: ByteWriter

    init(_ bytes: ByteWriter) { self.bytes = bytes }
}
