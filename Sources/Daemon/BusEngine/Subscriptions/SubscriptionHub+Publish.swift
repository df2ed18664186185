import BusJSON
import BusMachine
import BusProtocol
import BusState

/// Publishes a commit: to every subscription that it concerns, each group's change encoded once.
extension SubscriptionHub {
    /// The machine begins to make a commit.
    @inline(__always)
    func beginPublication() {
        noteRevision()
        // As long as making the commit took, and a little more for small ones.
        publication.liveUntil =
            clock.work &+ DaemonLimits.liveWork &+ Work.commitStore &* machine.writeSet.count
        publication.bytes = 0
        if publication.cause != nil { publication.cause = nil }
        publication.isCauseAwaited = false
    }

    /// The machine has made all changes of the commit. `actions`: its plan holds the actions that caused it.
    @inline(__always)
    func endPublication(by principal: Principal, actions: Bool) {
        defer { if !groups.overdue.isEmpty { startOver() } }
        if groups.actionCount > 0 {
            if actions { publishActions(by: principal) }
            if !publication.leaving.isEmpty { endLeaving() }
        }
        if !groups.overdue.isEmpty { withholdOverdue() }
        let tells = !publication.groups.isEmpty
        let start = clock.work
        if tells { deliver(by: principal, actions: actions) }
        bookmarkDueGroups()
        if !publication.ordered.isEmpty { deliverInOrder(by: principal, actions: actions) }
        if tells { forgetContents() }
        if publication.isCauseAwaited { _ = cause(by: principal, actions: actions) }
        clock.deliveredWork &+= clock.work &- start
    }

    /// What the commit has for groups that start over is not all of it.
    private func withholdOverdue() {
        for group in groups.overdue {
            if group.key.actions { group.content?.actions = [] } else { lag(group) }
        }
    }

    /// Groups that want actions have had those on the stores that they no longer want.
    private func endLeaving() {
        for (group, store) in publication.leaving { groups.remove(store, from: group) }
        publication.leaving = []
    }

    private func forgetContents() {
        for index in publication.groups.indices {
            publication.groups[index]._withUnsafeGuaranteedRef { $0.content = nil }
            Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef {
                if $0.size > DaemonLimits.usualContent { scheduleTrim() }
            }
        }
        publication.groups.clear()
    }

    /// The commit has written to one store and does nothing else.
    @inline(never)
    func publishOnlyWrite(_ change: StoreChange) { publishWrite(at: 0, change, isAlone: true) }

    /// The commit has written to the store at a place of the write set.
    ///
    /// - Parameter isAlone: The commit is about one store, so a single subscriber may be notified while the change is
    ///   encoded.
    @inline(__always)
    func publishWrite(at place: Int, _ change: StoreChange, isAlone: Bool) {
        if let trace { machine.trace(change, at: place, to: trace) }
        let byMembers: Bool
        switch change {
        case .none: return
        case .members: byMembers = true
        case .entries: byMembers = false
        }
        let store = machine.writeSet[place].store
        let record = machine.stores.pointer(store)
        // The machine holds its types, and the lists hold the groups; nothing here changes them.
        let typeIndex = Int(record.pointee.type)
        if machine.isRead, groups.tests.watch(typeIndex) {
            return publishTested(change, at: place, store, record, typeIndex, byMembers, isAlone)
        }
        publishToGroups(at: place, store, record, typeIndex, byMembers: byMembers, isAlone)
    }

    @inline(__always)
    private func publishToGroups(
        at place: Int, _ store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ typeIndex: Int,
        byMembers: Bool, _ isAlone: Bool
    ) {
        Unmanaged.passUnretained(machine.types[typeIndex])._withUnsafeGuaranteedRef { type in
            for index in 0..<groups.byType[typeIndex].count {
                Unmanaged.passUnretained(groups.byType[typeIndex][index])._withUnsafeGuaranteedRef {
                    publishWrite(at: place, record, type, for: $0, byMembers: byMembers, isAlone)
                }
            }
            guard let named = groups.byStore[store] else { return }
            for index in 0..<named.pointee.count {
                Unmanaged.passUnretained(named.pointee[index])._withUnsafeGuaranteedRef {
                    publishWrite(at: place, record, type, for: $0, byMembers: byMembers, isAlone)
                }
            }
        }
    }

    /// The same for a write that may change for which subscriptions the store is chosen.
    @inline(never)
    private func publishTested(
        _ change: StoreChange, at place: Int, _ store: Int32, _ record: UnsafeMutablePointer<StoreRecord>,
        _ typeIndex: Int, _ byMembers: Bool, _ isAlone: Bool
    ) {
        publication.tested += 1
        let touched =
            groups.tests[record.pointee.type]?.touched(by: change, publication.tested, of: machine) ?? []
        let entering = touched.isEmpty ? [] : publishLeaving(store, touched)
        publishToGroups(at: place, store, record, typeIndex, byMembers: byMembers, isAlone)
        publishEntering(store, entering)
    }

    /// Publishes a store's change for one group. Where its members are not enough, delta entries say what changed,
    /// which are collected when the first group wants them.
    @inline(__always)
    private func publishWrite(
        at place: Int, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for group: SubscriberGroup, byMembers: Bool, _ isAlone: Bool
    ) {
        if byMembers, group.isPlain {
            if isAlone, notifyDirectly(record, type, to: group) { return }
            guard let content = content(of: group) else { return }
            return encodeMembers(of: record, type, for: group, into: content)
        }
        if group.key.actions { return }
        if machine.entries.isEmpty { machine.gatherEntries(at: place) }
        encodeEntries(of: machine.writeSet[place].store, record, type, for: group)
    }

    /// A store is created, or replaced: its state is delivered to those for whom it is another one than before.
    func publishState(of index: Int32, replacing before: JSONObject? = nil) {
        let record = machine.stores.pointer(index)
        let type = machine.types[Int(record.pointee.type)]
        let entering =
            before == nil ? [] : publishLeaving(index, groups.tests[record.pointee.type]?.tests ?? [])
        defer { publishEntering(index, entering) }
        for group in groups(of: index, type) {
            if let before, group.hasSelection, let selection = group.selection(of: index) {
                clock.work += Work.selection
                if selection.project(before) == selection.project(record.pointee.state) { continue }
            }
            encodeState(of: index, record, type, for: group)
        }
    }

    /// A store is dropped.
    func publishDrop(of index: Int32) {
        let record = machine.stores.pointer(index)
        let type = machine.types[Int(record.pointee.type)]
        for group in groups(of: index, type) where !group.key.actions {
            if group.test != nil { groups.noteDeparture(of: index, from: group) }
            encodeDrop(record, type, for: group)
        }
        // A group that has not found all its stores may not have found this one, and its subscribers may have it.
        for group in groups.tests.groups(ofType: record.pointee.type)
        where group.search != nil && group.isAbout(record.pointee.name, ofType: type.name)
            && !group.members.contains(index)
        { groups.noteDeparture(of: index, from: group) }
    }

    private func encodeDrop(
        _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for group: SubscriberGroup
    ) {
        guard let content = content(of: group) else { return }
        let list = content.dropped
        let start = list.bytes.count
        list.bytes.write(atMost: addressRoom(record, type)) { pen in
            pen.append(UInt8(ascii: ","))
            pen.append(addressOf: record, type)
        }
        list.itemEnded(startingAt: start, limit: partLimit)
        count(list.bytes.count - start, of: content, for: group)
    }

    // MARK: Stores that come to be wanted, and cease to

    /// A commit has changed a store: the groups that no longer want it, by one of these expressions, are told that it is
    /// dropped. Returns those that have come to want it.
    private func publishLeaving(_ store: Int32, _ tests: [StoreTest]) -> [SubscriberGroup] {
        var entering: [SubscriberGroup] = []
        let record = machine.stores.pointer(store)
        let type = machine.types[Int(record.pointee.type)]
        for test in tests {
            var result: Bool?
            for group in test.groups {
                let isMember = group.members.contains(store)
                guard isMember || group.isAbout(record.pointee.name, ofType: type.name) else { continue }
                guard !group.isOverdue, let holds = result ?? groups.test(store, by: test, for: group) else {
                    continue
                }
                result = holds
                if holds {
                    if !isMember { entering.append(group) }
                } else if isMember || group.search != nil {
                    leave(store, record, type, group, wasMember: isMember)
                }
            }
        }
        return entering
    }

    private func leave(
        _ store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        _ group: SubscriberGroup, wasMember: Bool
    ) {
        // Its actions are about what the store was like before, too.
        if group.key.actions { return publication.leaving.append((group, store)) }
        groups.noteDeparture(of: store, from: group)
        guard wasMember else { return }
        groups.remove(store, from: group)
        encodeDrop(record, type, for: group)
    }

    /// What groups have come to want is delivered as a state.
    private func publishEntering(_ store: Int32, _ entering: [SubscriberGroup]) {
        if entering.isEmpty { return }
        let record = machine.stores.pointer(store)
        let type = machine.types[Int(record.pointee.type)]
        for group in entering {
            groups.add(store, to: group)
            encodeState(of: store, record, type, for: group)
        }
    }

    /// A batch has dropped stores and created others at their addresses: groups that wanted one and do not want the other are
    /// told that it is dropped.
    func publishReplaced(_ stores: [Int32]) {
        for store in stores {
            let record = machine.stores.pointer(store)
            let type = machine.types[Int(record.pointee.type)]
            guard groups.tests.watch(Int(record.pointee.type)),
                let new = machine.find(machine.address(of: Int(store)))
            else { continue }
            for group in groups.tests.groups(ofType: record.pointee.type)
            where !group.key.actions && !group.members.contains(new)
                && (group.members.contains(store) || group.search != nil)
            {
                groups.noteDeparture(of: store, from: group)
                if group.members.contains(store) { encodeDrop(record, type, for: group) }
            }
        }
    }

    /// All groups that a store is in.
    func groups(of store: Int32, _ type: TypeEntry) -> [SubscriberGroup] {
        groups.byType[Int(type.index)] + (groups.byStore[store]?.pointee ?? [])
    }

    /// Where the group's content of this commit is collected; nil when no subscriber would take it live.
    @inline(__always)
    func content(of group: SubscriberGroup) -> GroupContent? {
        if let content = group.content {
            if content.isAbandoned { return nil }
            // A single group receives all, up to what is encoded at once.
            if !isPublicationLong || publication.groups.count == 1 || group.key.actions { return content }
            lag(group)
            return nil
        }
        guard group.hasLiveSubscribers else { return nil }
        if isPublicationLong, !group.key.actions {
            lag(group)
            return nil
        }
        clock.work &+= Work.group
        let index = publication.groups.count
        publication.groups.append(.passUnretained(group))
        if index == publication.contents.count { publication.contents.append(GroupContent()) }
        let content = publication.contents[index]
        content.clear()
        group.content = content
        return content
    }

    // MARK: Too much to deliver

    /// Counts what has been encoded for a group; too much is not delivered live.
    @inline(__always)
    func count(_ bytes: Int, of content: GroupContent, for group: SubscriberGroup) {
        clock.work &+= bytes
        publication.bytes &+= bytes
        if publication.bytes > DaemonLimits.liveBytes { lag(group) }
    }

    /// Whether so much has been done for this commit that subscribers not notified of it yet lag behind.
    @inline(__always)
    var isPublicationLong: Bool { clock.work > publication.liveUntil }

    /// A group's subscribers are not notified of this commit live: they lag behind, and are
    /// notified when it is their turn.
    func lag(_ group: SubscriberGroup) {
        if let content = group.content {
            publication.bytes -= content.size
            content.clear()
            content.isAbandoned = true
        }
        // Delivering more than needed is harmless, so the record of selected changes is dropped.
        endNoting(group)
        let start = clock.work
        // From the end: the last one changes places with no other.
        while group.hasLiveSubscribers {
            Unmanaged.passUnretained(group.subscribers[group.liveCount - 1])._withUnsafeGuaranteedRef {
                fallBehind($0)
            }
        }
        clock.deliveredWork += clock.work - start
    }

    /// A subscription is notified of this commit later, together with what comes until then.
    @inline(__always)
    func fallBehind(_ subscription: Subscription) {
        clock.work &+= Work.fall
        totals.coalesced += 1
        if subscription.group.key.cause { publication.isCauseAwaited = true }
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            scheduler.bill(Work.fall, to: connection)
            if isPublicationLong { rests.noteFall(of: connection) }
            var catchUp = CatchUp(
                reset: false, evenIfEmpty: false, dropsAfter: machine.revision - 1,
                floor: machine.sequenceBefore, ceiling: machine.sequence)
            catchUp.commit = machine.revision
            beginLagging(subscription, catchUp)
            // Delivering a commit costs at most what making it did, about.
            if !connection.turn.isQueued {
                scheduler.enqueue(
                    connection, expecting: min(clock.workOfSlice, clock.limits.turnWork))
            }
        }
    }
}
