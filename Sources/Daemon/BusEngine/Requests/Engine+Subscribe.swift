import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// `subscribe` and `unsubscribe`.
extension Engine {
    func subscribe(_ connection: Connection) throws(RequestError) {
        try admission.requireSubscription(connection)
        let grants = connection.access.grants
        let actions = try request.flag(.actions, default: false)
        try commands.require(
            actions ? .history : .read, ofStoreIn: grants, actions ? "read the history of" : "read")
        let pattern = try request.requiredPattern(in: machine)
        try grants?.requireKnown(pattern)
        if actions, let grants, !grants.mayKnowHistory(of: pattern) {
            throw Commands.forbidden("subscribe to actions of", pattern.text)
        }
        try machine.requireTypes(of: pattern)
        let chosen = try requestedFilter(of: pattern, grants, isPast: false)
        if chosen?.reads.meta == true {
            throw .invalid(
                "where",
                "A subscription follows changes of stores, and `meta` changes without them; write state.meta for a member of that name."
            )
        }
        let pointers = try request.selection(clock)?.pointers
        let format = try requestedFormat()
        let initial = try request.flag(.initial, default: true)
        let cause = try request.flag(.cause, default: false)
        if cause, let grants, !grants.knowsEverything {
            throw RequestError(
                .forbidden,
                "The access rules do not show you all that happens, and a cause names every action of a commit; subscribe without `cause`."
            )
        }
        let since = try request.integer(.since)
        let epoch = try request.string(.epoch)
        guard (since == nil) == (epoch == nil) else {
            throw .invalid(
                since == nil ? "since" : "epoch", "`since` and `epoch` go together; give both or neither.")
        }
        let wanted = SubscriptionFilter(
            pattern: pattern, where: chosen, pointers: pointers, format: format, cause: cause,
            actions: actions)
        let filter = wanted.granted(to: grants)
        try admission.require(filter, connection)
        let group = hub.group(filter, for: connection.user)
        if group.subscribers.isEmpty, memory.isOver {
            hub.removeIfEmpty(group)
            throw admission.overMemory
        }
        let subscription = hub.add(to: group, wanted: wanted, for: connection)
        clock.work += Work.subscription
        replies.answer(connection, id: request.id) { writer in
            writer.append(",\"sub\":", decimal: subscription.number)
            writer.append(revision: machine.revision)
            writer.append(",\"epoch\":", quoted: machine.epoch)
        }
        hub.begin(subscription, start(of: filter, initial: initial, since: since, epoch: epoch))
    }

    private func start(
        of filter: SubscriptionFilter, initial: Bool, since: Int?, epoch: String?
    ) -> SubscriptionHub.Start {
        let isOurs = epoch == machine.epoch
        if filter.actions {
            guard let since, !isOurs || since != machine.revision else { return .live }
            // The log does not tell what stores were like.
            if filter.chosen != nil { return .gap }
            // A subscriber that asks for past actions that are no longer known gets a gap event.
            return log.isOn && isOurs && since < machine.revision ? .past(after: since) : .gap
        }
        // Under earlier rules its client saw other stores.
        if let since, isOurs, since <= machine.revision, since >= machine.accessSince,
            machine.dropLog.reaches(back: since), since >= machine.knownSince(filter.pattern)
        {
            return .resume(after: since)
        }
        return initial || since != nil ? .reset : .live
    }

    func unsubscribe(_ connection: Connection) throws(RequestError) {
        guard let number = try request.integer(.sub, least: 1) else {
            throw .invalid("sub", "Say in `sub` which subscription to end.")
        }
        guard let subscription = connection.delivery.subscriptions.first(where: { $0.number == number })
        else {
            throw .invalid("sub", "This connection has no subscription \(number).")
        }
        connection.delivery.remove { $0 === subscription }
        hub.detach(subscription)
        replies.answer(connection, id: request.id) { _ in }
    }

    private func requestedFormat() throws(RequestError) -> SubscriptionFilter.Format {
        guard let name = try request.string(.format) else { return .merge }
        guard let format = SubscriptionFilter.Format(rawValue: name) else {
            throw .invalid("format", "`format` is merge, patch or state.")
        }
        return format
    }
}
