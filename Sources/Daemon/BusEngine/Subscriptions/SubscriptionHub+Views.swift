import BusMachine
import BusProtocol

/// Subscriptions under access rules that change.
extension SubscriptionHub {
    /// The rules leave something else of what a subscription wants: what its client may no longer see is dropped for it,
    /// and what it may see is delivered again.
    func replace(_ old: Subscription, at place: Int, by filter: SubscriptionFilter) {
        let connection = old.connection
        let past = old.past
        let hidden = filter.actions ? [] : seen(under: old.group.key, notUnder: filter)
        detach(old)
        let group = group(filter, for: connection.user)
        _ = groups.search(for: group) { true }
        let new = Subscription(
            number: old.number, connection: connection, group: group, wanted: old.wanted, from: old.from)
        endMulticast(with: connection)
        endMulticast(of: group)
        connection.delivery.replace(at: place, by: new)
        group.add(new)
        count(new, 1)
        if filter.actions {
            if let past { beginPast(new, at: past) }
            return
        }
        if !hidden.isEmpty { writeHidden(hidden, to: new) }
        new.from = machine.revision
        beginLagging(
            new,
            CatchUp(
                reset: true, evenIfEmpty: true, dropsAfter: machine.revision, floor: 0,
                ceiling: machine.sequence))
        scheduler.enqueue(connection)
    }

    /// The stores that one filter shows and the other does not.
    private func seen(under old: SubscriptionFilter, notUnder new: SubscriptionFilter) -> [String] {
        var hidden: [String] = []
        for entry in machine.types where old.pattern.type.matches(entry.name) {
            for index in entry.members where index >= 0 {
                let name = machine.stores.pointer(index).pointee.name
                clock.work += Work.look
                guard old.pattern.name.matches(name), old.shows(name, ofType: entry.name),
                    !new.shows(name, ofType: entry.name)
                else { continue }
                hidden.append("\(entry.name)/\(name)")
            }
        }
        return hidden
    }

    private func writeHidden(_ addresses: [String], to subscription: Subscription) {
        let list = ItemList()
        for address in addresses {
            let start = list.bytes.count
            list.bytes.append(UInt8(ascii: ","))
            list.bytes.append(quoted: address)
            list.itemEnded(startingAt: start, limit: partLimit)
        }
        var catchUp = CatchUp(
            reset: false, evenIfEmpty: false, dropsAfter: machine.revision, floor: machine.sequence,
            ceiling: machine.sequence)
        write(subscription, &catchUp, ItemList(), dropped: list, more: false)
    }
}
