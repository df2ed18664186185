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
        let new = replace(old, at: place, byOneWith: filter)
        _ = groups.search(for: new.group) { true }
        if filter.actions {
            if let past { beginPast(new, at: past) }
            return
        }
        if !hidden.isEmpty { writeHidden(hidden, to: new) }
        reset(new)
        scheduler.enqueue(connection)
    }

    private func replace(
        _ old: Subscription, at place: Int, byOneWith filter: SubscriptionFilter
    ) -> Subscription {
        let connection = old.connection
        let wanted = old.wanted
        detach(old)
        if !connection.searches.isEmpty,
            !connection.delivery.subscriptions.contains(where: { $0 !== old && $0.group === old.group })
        {
            connection.endSearch(of: old.group)
        }
        let group = groups.all[filter] ?? makeGroup(filter, for: connection.user)
        let new = Subscription(
            number: old.number, connection: connection, group: group, wanted: wanted, from: old.from)
        endMulticast(with: connection)
        endMulticast(of: group)
        connection.delivery.replace(at: place, by: new)
        group.add(new)
        count(new, 1)
        return new
    }

    private func reset(_ subscription: Subscription) {
        subscription.from = machine.revision
        beginLagging(subscription, .reset(machine))
    }

    /// Restarts the groups that the budget of the commit was too small for: their subscribers search for their stores again, each in its
    /// own turn, and get a reset, or a gap where they want actions.
    func startOver() {
        for group in groups.takeOverdue() {
            for old in group.subscribers {
                let connection = old.connection
                guard let place = connection.delivery.subscriptions.firstIndex(where: { $0 === old }) else {
                    continue
                }
                let start = clock.work
                let new = replace(old, at: place, byOneWith: group.key)
                if group.key.actions { noteGap(of: new) } else { reset(new) }
                if !connection.isClosing {
                    if new.group.search != nil { connection.beginSearch(for: new.group) }
                    scheduler.enqueue(connection)
                }
                clock.deliveredWork &+= clock.work &- start
                scheduler.bill(clock.work &- start, to: connection)
            }
        }
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
        var catchUp = CatchUp.fromNow(machine)
        write(subscription, &catchUp, ItemList(), dropped: list, more: false)
    }
}
