import BusLogic
import BusMachine
import BusProtocol

/// Subscriptions under access rules that change.
extension SubscriptionHub {
    /// The rules leave something else of what a subscription wants: what its client may no longer see is dropped for it,
    /// and what it may see is delivered again, in its turn. `known`: what was already found to be hidden by changes of views.
    func replace(
        _ old: Subscription, at place: Int, by filter: SubscriptionFilter,
        hiding known: inout [ViewChange: ItemList]
    ) {
        let past = old.past
        let change = ViewChange(pattern: filter.pattern, old: old.group.key.view, new: filter.view)
        let new = replace(old, at: place, byOneWith: filter)
        if filter.actions {
            // What was hidden until now was not delivered.
            if let past { beginPast(new, at: past) } else { noteGap(of: new) }
        } else {
            let hidden = known[change] ?? hidden(by: change)
            known[change] = hidden
            if !hidden.isEmpty { writeHidden(hidden, to: new) }
            reset(new)
        }
        searchInTurn(for: new)
    }

    /// The group of a subscription may have to search for its stores: that is done in its connection's turn.
    private func searchInTurn(for subscription: Subscription) {
        let connection = subscription.connection
        if connection.isClosing { return }
        if subscription.group.search != nil { connection.beginSearch(for: subscription.group) }
        scheduler.enqueue(connection)
    }

    private func replace(
        _ old: Subscription, at place: Int, byOneWith filter: SubscriptionFilter
    ) -> Subscription {
        let connection = old.connection
        let wanted = old.wanted
        detach(old)
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
                searchInTurn(for: new)
                clock.deliveredWork &+= clock.work &- start
                scheduler.bill(clock.work &- start, to: connection)
            }
        }
    }

    /// The addresses of the stores that the old view shows and the new one does not.
    private func hidden(by change: ViewChange) -> ItemList {
        let list = ItemList()
        guard let view = change.new, view != change.old else { return list }
        for entry in machine.types where change.pattern.type.matches(entry.name) {
            for index in entry.members where index >= 0 {
                let name = machine.stores.pointer(index).pointee.name
                clock.work += Work.look
                guard change.pattern.name.matches(name),
                    change.old?.shows(name, ofType: entry.name) ?? true, !view.shows(name, ofType: entry.name)
                else { continue }
                let start = list.bytes.count
                list.bytes.append(UInt8(ascii: ","))
                list.bytes.append(quoted: "\(entry.name)/\(name)")
                list.itemEnded(startingAt: start, limit: partLimit)
            }
        }
        return list
    }

    private func writeHidden(_ list: ItemList, to subscription: Subscription) {
        var catchUp = CatchUp.fromNow(machine)
        write(subscription, &catchUp, ItemList(), dropped: list, more: false)
    }
}

/// All that decides which stores of a pattern a subscription no longer sees.
struct ViewChange: Hashable {
    let pattern: AddressPattern
    /// Nil: everything is seen.
    let old: Grants?
    let new: Grants?
}
