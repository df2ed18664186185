import BusJSON
import BusMachine
import BusProtocol
import BusState

/// Subscriptions begin and end.
extension SubscriptionHub {
    /// How a subscription begins.
    enum Start {
        /// From nothing: with the states there are.
        case reset
        /// After a revision, with what changed since.
        case resume(after: Int)
        /// With what changes from now on.
        case live
        /// Action subscriptions: after a revision whose successors are no longer known, or from the log.
        case gap
        case past(after: Int)
    }

    /// The group of all subscriptions with a filter, which is made if there is none. It may
    /// have to search for its stores.
    func group(_ filter: SubscriptionFilter, for user: User) -> SubscriberGroup {
        let group = groups.all[filter] ?? makeGroup(filter, for: user)
        _ = groups.search(for: group) { !clock.isSliceUsedUp }
        return group
    }

    /// Adds a subscription to a group.
    func add(
        to group: SubscriberGroup, wanted: SubscriptionFilter, for connection: Connection
    ) -> Subscription {
        let subscription = Subscription(
            number: connection.delivery.takeNumber(), connection: connection, group: group, wanted: wanted,
            from: machine.revision)
        attach(subscription)
        return subscription
    }

    /// Adds a subscription as it was in another daemon.
    func attach(_ subscription: Subscription) {
        endMulticast(with: subscription.connection)
        endMulticast(of: subscription.group)
        subscription.connection.delivery.add(subscription)
        subscription.group.add(subscription)
        count(subscription, 1)
    }

    /// What a client may see has changed: its subscriptions deliver what they may.
    func reassess(_ connection: Connection) {
        var hidden: [ViewChange: ItemList] = [:]
        for place in connection.delivery.subscriptions.indices {
            let subscription = connection.delivery.subscriptions[place]
            let filter = subscription.wanted.granted(to: connection.access.grants)
            if filter != subscription.group.key {
                replace(subscription, at: place, by: filter, hiding: &hidden)
            }
        }
    }

    /// Subscriptions that began in what was rolled back end, others begin again where they missed something of it.
    func rewind(_ connection: Connection, _ retraction: Retraction) {
        let made = connection.delivery.subscriptions.filter { retraction.made.contains($0.number) }
        connection.delivery.remove { retraction.made.contains($0.number) }
        for subscription in made { detach(subscription) }
        retraction.write(to: connection, connections)
        for subscription in connection.delivery.subscriptions {
            let unheard = retraction.firstUnheard(by: subscription)
            if subscription.group.key.actions {
                rewindActions(subscription, from: unheard)
            } else {
                restart(subscription, hasMissed: unheard != nil)
            }
        }
    }

    /// Begins delivery to a subscription.
    func begin(_ subscription: Subscription, _ start: Start) {
        let connection = subscription.connection
        switch start {
        case .live: break
        case .gap: writeGap(to: subscription, at: machine.revision)
        case .past(let revision): beginPast(subscription, after: revision)
        case .resume(let revision) where subscription.group.test != nil:
            guard let changed = changed(after: revision, for: subscription.group) else {
                return begin(subscription, .reset)
            }
            subscription.from = revision
            var catchUp = CatchUp(
                reset: false, evenIfEmpty: true, dropsAfter: machine.revision,
                floor: floor(of: revision, subscription.group.key.pattern), ceiling: machine.sequence,
                isStartKnown: false)
            catchUp.changed = changed
            beginLagging(subscription, catchUp)
        case .resume(let revision):
            subscription.from = revision
            // A store's changes behind the revision may begin before the floor: only its last one is behind that for sure.
            beginLagging(
                subscription,
                CatchUp(
                    reset: false, evenIfEmpty: true, dropsAfter: revision,
                    floor: floor(of: revision, subscription.group.key.pattern), ceiling: machine.sequence,
                    isStartKnown: false))
        case .reset:
            beginLagging(subscription, .reset(machine))
        }
        waitForStores(of: subscription.group, connection, subscription)
        // The first event follows directly, before what other subscriptions of the connection may miss.
        if connection.searches.isEmpty, subscription.isLagging, !connection.isClosing {
            deliverPart(to: subscription)
        }
        if connection.searches.isEmpty, connection.behind == 0 { catchUp(connection) }
    }

    /// A group that has not found all its stores can't deliver their changes: its subscribers lag behind until it has.
    private func waitForStores(
        of group: SubscriberGroup, _ connection: Connection, _ subscription: Subscription
    ) {
        if groups.search(for: group, while: { !clock.isSliceUsedUp }) { return }
        connection.beginSearch(for: group)
        guard !group.key.actions, !subscription.isLagging else { return }
        beginLagging(subscription, .fromNow(machine))
    }

    /// The addresses of stores that a group is about and that have changed or were dropped after a revision; nil if that is too
    /// many to tell which of them are not wanted.
    private func changed(after revision: Int, for group: SubscriberGroup) -> [String]? {
        var changed: [String] = []
        for entry in machine.types where group.key.pattern.type.matches(entry.name) {
            var index = entry.newest
            while index >= 0, machine.stores.pointer(index).pointee.revision > revision {
                let name = machine.stores.pointer(index).pointee.name
                clock.work += Work.look
                if group.isAbout(name, ofType: entry.name),
                    machine.revision(of: index, seenBy: group.key.view) > revision
                {
                    changed.append("\(entry.name)/\(name)")
                    if changed.count > DaemonLimits.resumedChanges { return nil }
                }
                index = machine.stores.pointer(index).pointee.older
            }
        }
        for number in machine.dropLog.number(after: revision)..<machine.dropLog.count {
            let drop = machine.dropLog[number]
            let type = machine.types[Int(drop.type)].name
            clock.work += Work.rememberedDrop
            guard group.isAbout(drop.name, ofType: type) else { continue }
            changed.append("\(type)/\(drop.name)")
            if changed.count > DaemonLimits.resumedChanges { return nil }
        }
        return changed
    }

    /// The point in the order of changes behind which the last change of each store lies that changed after a revision.
    private func floor(of revision: Int, _ pattern: AddressPattern) -> Int {
        var floor = machine.sequence
        for entry in machine.types where pattern.type.matches(entry.name) {
            let first = entry.firstChanged(afterRevision: revision) { clock.work += $0 * Work.look / 4 }
            if first >= 0 { floor = min(floor, machine.stores.pointer(first).pointee.sequence - 1) }
        }
        return floor
    }

    /// Removes a subscription from its group, and the group with its last subscription. Its connection no longer waits for the
    /// group's stores, unless another of its subscriptions does.
    func detach(_ subscription: Subscription) {
        let (group, connection) = (subscription.group, subscription.connection)
        endMulticast(of: group)
        endPast(subscription)
        if subscription.isLagging { endLagging(subscription) }
        group.remove(subscription)
        count(subscription, -1)
        if group.search != nil, !connection.searches.isEmpty,
            !connection.delivery.subscriptions.contains(where: { $0 !== subscription && $0.group === group })
        {
            connection.endSearch(of: group)
        }
        removeIfEmpty(group)
    }

    func count(_ subscription: Subscription, _ sign: Int) {
        subscriptionCount += sign
        subscription.connection.user.subscriptions += sign
        groups.noteCrowd(subscription.group)
    }

    // MARK: Groups

    func makeGroup(_ filter: SubscriptionFilter, for user: User) -> SubscriberGroup {
        let group = groups.make(filter, for: user)
        if !filter.actions { bookmarkQueue.add(group) }
        return group
    }

    func removeIfEmpty(_ group: SubscriberGroup) {
        guard group.subscribers.isEmpty else { return }
        bookmarkQueue.remove(group)
        groups.remove(group)
    }

    // MARK: Rewinding

    /// The machine holds the stores of an earlier revision now: all groups search for theirs again.
    func rejoin() {
        for group in groups.inOrder {
            endNoting(group)
            if !group.key.actions { group.lastNotified = min(group.lastNotified, machine.revision) }
        }
        groups.rejoin()
    }

    /// Rewinds a subscription to actions: those of commits that stand are delivered again, from the log; the others
    /// were rolled back. `unheard`: the first revision that it was about to receive and will not.
    func rewindActions(_ subscription: Subscription, from unheard: Int?) {
        let reached = min((unheard ?? .max) - 1, machine.revision)
        if let past = subscription.past {
            past.deliveredThrough = max(0, min(past.deliveredThrough, reached))
        } else {
            guard let unheard, unheard <= machine.revision else { return }
            beginPast(subscription, at: Subscription.Past(after: max(0, reached)))
        }
        forgetEntries(of: subscription.connection)
    }

    /// Restarts a subscription to states that received, or was about to receive, what was rolled back.
    func restart(_ subscription: Subscription, hasMissed: Bool) {
        guard
            hasMissed || subscription.from > machine.revision || subscription.isLagging
                || machine.keepsAtMost(.none, of: subscription.group.key.pattern)
        else { return }
        if subscription.isLagging { endLagging(subscription) }
        subscription.from = min(subscription.from, machine.revision)
        beginLagging(subscription, .reset(machine))
    }
}
