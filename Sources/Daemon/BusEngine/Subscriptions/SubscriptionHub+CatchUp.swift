import BusJSON
import BusMachine
import BusProtocol

/// Delivery to subscriptions that are behind: first states, resumptions and merged changes of slow readers.
///
/// All three are one walk over the stores that changed after a point in the order of changes, a part of an event at a
/// time while the outbox has room. Nothing is kept per missed commit: a reader that never reads costs nothing more, and
/// in the end it receives what differs.
extension SubscriptionHub {
    @inline(__always)
    func beginLagging(_ subscription: Subscription, _ catchUp: CatchUp) {
        subscription.catchUp = catchUp
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            endMulticast(with: connection)
            connection.beginLagging()
        }
        Unmanaged.passUnretained(subscription.group)._withUnsafeGuaranteedRef { group in
            beginNoting(group, after: machine.sequence)
            group.lag(subscription)
        }
    }

    func endLagging(_ subscription: Subscription) {
        if let part = subscription.catchUp?.part {
            connections.count(part, as: 0, of: subscription.connection)
        }
        subscription.catchUp = nil
        // A multicast group that was formed without it would deliver none of the next events to it.
        endMulticast(of: subscription.group)
        subscription.group.goLive(subscription)
        if !subscription.group.hasLaggingSubscribers {
            endNoting(subscription.group)
            groups.forgetDepartures(of: subscription.group)
        }
        subscription.connection.endLagging()
    }

    /// Delivers what a connection's subscriptions miss, in order, while there is room, as long as the slice lasts.
    func catchUp(_ connection: Connection) {
        if connection.lagging == 0 { return }
        let isResting = clock.now < connection.delivery.restsUntil
        if isResting, connection.delivery.subscriptions.contains(where: hasMissed) {
            // The others rest with it: the events of one revision go by the numbers of the subscriptions.
            return rests.rest(connection)
        }
        for subscription in connection.delivery.subscriptions where subscription.isLagging {
            while subscription.isLagging {
                if isResting, subscription.catchUp!.isResting { break }
                if connections.isFull(connection) || connection.isClosing { return }
                if clock.isSliceUsedUp { return connection.pause() }
                guard mayHold(DaemonLimits.usualContent, connection) else {
                    connection.delivery.rest(until: clock.now + DaemonLimits.reliefInterval)
                    return rests.rest(connection)
                }
                deliverPart(to: subscription)
            }
        }
        if isResting, connection.lagging > 0 { rests.rest(connection) }
    }

    /// Whether something may have changed for a subscription while it rests.
    private func hasMissed(_ subscription: Subscription) -> Bool {
        guard let catchUp = subscription.catchUp else { return false }
        return catchUp.isResting && catchUp.floor < machine.sequence
    }

    /// Continues with the next part of a subscription's event as long as the slice lasts: writes it
    /// when it is full, or the last.
    func deliverPart(to subscription: Subscription) {
        var catchUp = subscription.catchUp!
        catchUp.isResting = false
        clock.work += Work.part
        let drops = drops(of: subscription.group)
        if !drops.reaches(back: catchUp.dropsAfter) {
            // The drops since are forgotten: a reset, which starts from nothing, says the same.
            catchUp.restart(dropsAfter: machine.revision, ceiling: machine.sequence)
        }
        let part = catchUp.part ?? ItemList()
        if !part.isEmpty, catchUp.dropsSeen < drops.count {
            // One of the stores in it may have been dropped since: its drop must not be on the same line.
            keep(nil, in: &catchUp, of: subscription.connection)
            write(subscription, &catchUp, part, dropped: ItemList(), more: true)
            subscription.catchUp = catchUp
            return
        }
        catchUp.dropsSeen = drops.count
        let progress =
            subscription.group.seesParts
            ? gatherSeen(into: part, for: subscription, &catchUp)
            : gather(into: part, for: subscription.group, &catchUp)
        keep(progress == .hasMore ? part : nil, in: &catchUp, of: subscription.connection)
        switch progress {
        case .hasMore:
            subscription.catchUp = catchUp
            subscription.connection.pause()
        case .isFull:
            write(subscription, &catchUp, part, dropped: ItemList(), more: true)
            subscription.catchUp = catchUp
        case .isComplete:
            let dropped = gatherDrops(for: subscription.group, &catchUp)
            if catchUp.nextDrop! < drops.count {
                // A dropped store may be created again before the next slice, so what is known now is delivered now.
                write(subscription, &catchUp, part, dropped: dropped, more: true)
                subscription.catchUp = catchUp
                return subscription.connection.pause()
            }
            let isEmpty = part.isEmpty && dropped.isEmpty
            if !isEmpty || catchUp.isOpen || catchUp.evenIfEmpty {
                write(subscription, &catchUp, part, dropped: dropped, more: false)
                subscription.from = machine.revision
            }
            if clock.now < subscription.connection.delivery.restsUntil {
                subscription.catchUp = .fromNow(machine)
                subscription.catchUp!.isResting = true
            } else {
                endLagging(subscription)
            }
        }
    }

    /// The part that is kept for the next slice counts, one that was kept before no longer does.
    private func keep(_ part: ItemList?, in catchUp: inout CatchUp, of connection: Connection) {
        if let kept = catchUp.part, kept !== part { connections.count(kept, as: 0, of: connection) }
        if let part { connections.count(part, as: part.bytes.reserved, of: connection) }
        catchUp.part = part
    }

    enum Progress {
        /// The slice is used up.
        case hasMore
        /// The part is full.
        case isFull
        /// Nothing is left to deliver.
        case isComplete
    }

    private func gather(into list: ItemList, for group: SubscriberGroup, _ catchUp: inout CatchUp) -> Progress
    {
        while true {
            let progress =
                group.wantsWholeTypes || group.members.count > Self.fewMembers
                ? gatherTypes(into: list, for: group, &catchUp)
                : gatherMembers(into: list, for: group, &catchUp)
            guard progress == .isComplete else { return progress }
            if catchUp.ceiling == machine.sequence { return .isComplete }
            // Something changed while earlier parts were sent: another round. One line names no store twice.
            if !list.isEmpty { return .isFull }
            catchUp.beginRound(ceiling: machine.sequence)
        }
    }

    /// `isDue`: whether a store of the group that has changed is to be delivered.
    func gatherTypes(
        into list: ItemList, for group: SubscriberGroup, _ catchUp: inout CatchUp,
        where isDue: (Int32) -> Bool = { _ in true }
    ) -> Progress {
        // However short the slice is, the walk advances by one store.
        var hasAdvanced = false
        while catchUp.type < machine.types.count {
            let entry = machine.types[catchUp.type]
            if group.key.pattern.type.matches(entry.name) {
                var index = next(in: entry, catchUp)
                while index >= 0 {
                    let record = machine.stores.pointer(index)
                    if record.pointee.sequence > catchUp.ceiling { break }
                    if clock.isSliceUsedUp, hasAdvanced { return .hasMore }
                    hasAdvanced = true
                    clock.work += Work.look
                    if group.wantsWholeTypes || group.members.contains(index) && isDue(index),
                        !append(index, entry, for: group, catchUp, to: list)
                    {
                        return .isFull
                    }
                    catchUp.cursor = record.pointee.sequence
                    catchUp.hint = index
                    index = record.pointee.newer
                }
            }
            catchUp.type += 1
            catchUp.cursor = catchUp.floor
            catchUp.hint = -1
        }
        return .isComplete
    }

    /// The store of a type that changed next after the cursor.
    private func next(in entry: TypeEntry, _ catchUp: CatchUp) -> Int32 {
        if catchUp.hint >= 0 {
            // No two changes have the same number, so a store with the cursor's number is still the one at the cursor.
            let record = machine.stores.pointer(catchUp.hint)
            if record.pointee.sequence == catchUp.cursor { return record.pointee.newer }
        }
        return entry.firstChanged(after: catchUp.cursor) { clock.work += $0 * Work.look / 4 }
    }

    /// With more members than this, the changes of their types are walked instead of the members.
    static let fewMembers = 1024

    private func gatherMembers(into list: ItemList, for group: SubscriberGroup, _ catchUp: inout CatchUp)
        -> Progress
    {
        clock.work += group.members.count * Work.look
        let due = group.members
            .map { (store: $0, record: machine.stores.pointer($0)) }
            .filter { $1.pointee.sequence > catchUp.cursor && $1.pointee.sequence <= catchUp.ceiling }
            .sorted { $0.record.pointee.sequence < $1.record.pointee.sequence }
        for (number, (store, record)) in due.enumerated() {
            if clock.isSliceUsedUp, number > 0 { return .hasMore }
            let type = machine.types[Int(record.pointee.type)]
            guard append(store, type, for: group, catchUp, to: list) else { return .isFull }
            catchUp.cursor = record.pointee.sequence
        }
        return .isComplete
    }

    /// Appends one store's state, unless it is known to be unchanged; false, with nothing
    /// appended, when the part is full.
    func append(
        _ store: Int32, _ type: TypeEntry, for group: SubscriberGroup, _ catchUp: CatchUp, to list: ItemList
    ) -> Bool {
        if !catchUp.reset, isUntouched(store, for: group, after: catchUp.start) { return true }
        let start = list.bytes.count
        appendState(of: store, machine.stores.pointer(store), type, for: group, to: list)
        clock.work += (list.bytes.count - start) * Work.encodedByte
        let limit =
            connections.isOutputOverShare ? min(partLimit, DaemonLimits.usualContent) : partLimit
        if list.bytes.count > limit, start > 0 {
            list.cutBack(to: start)
            return false
        }
        return true
    }

    /// The addresses of stores that were dropped and not created again, as many as the slice allows.
    private func gatherDrops(for group: SubscriberGroup, _ catchUp: inout CatchUp) -> ItemList {
        let list = ItemList()
        var told: Set<String> = []
        let drops = drops(of: group)
        func append(_ address: String) {
            guard !isThere(address, for: group), told.insert(address).inserted else { return }
            let start = list.bytes.count
            list.bytes.append(UInt8(ascii: ","))
            list.bytes.append(quoted: address)
            list.itemEnded(startingAt: start, limit: partLimit)
        }
        if catchUp.nextDrop == nil {
            clock.work += catchUp.changed.count * Work.rememberedDrop
            // In an order that does not tell which of them changed last where a reader may not see that.
            for address in catchUp.changed.sorted() { append(address) }
        }
        var number = catchUp.nextDrop ?? drops.number(after: catchUp.dropsAfter)
        defer { catchUp.nextDrop = number }
        let first = number
        while number < drops.count {
            if clock.isSliceUsedUp, number > first { break }
            clock.work += Work.rememberedDrop
            let drop = drops[number]
            number += 1
            let type = machine.types[Int(drop.type)].name
            guard group.key.pattern.type.matches(type), group.key.pattern.name.matches(drop.name),
                group.key.shows(drop.name, ofType: type)
            else { continue }
            append("\(type)/\(drop.name)")
        }
        return list
    }

    /// What was dropped for subscribers of a group: where they choose stores by what these are like, also those that ceased to
    /// be so.
    private func drops(of group: SubscriberGroup) -> DropLog {
        group.test == nil ? machine.dropLog : group.departures
    }

    private func isThere(_ address: String, for group: SubscriberGroup) -> Bool {
        guard let store = machine.find(address) else { return false }
        return group.test == nil || group.members.contains(store)
    }

    /// Writes one part; `dropped` goes into parts of its own where it does not fit beside the states.
    func write(
        _ subscription: Subscription, _ catchUp: inout CatchUp, _ states: ItemList, dropped: ItemList,
        more: Bool
    ) {
        let apart = !dropped.isEmpty && states.bytes.count + dropped.bytes.count > partLimit
        if apart {
            writePart(subscription, &catchUp, states: states.whole, dropped: nil, more: true)
            var parts: [UnsafeRawBufferPointer] = []
            dropped.forEachPart { parts.append($0) }
            for (index, part) in parts.enumerated() {
                writePart(
                    subscription, &catchUp, states: nil, dropped: part, more: more || index < parts.count - 1)
            }
        } else {
            writePart(
                subscription, &catchUp, states: states.isEmpty ? nil : states.whole,
                dropped: dropped.isEmpty ? nil : dropped.whole, more: more)
        }
    }

    private func writePart(
        _ subscription: Subscription, _ catchUp: inout CatchUp, states: UnsafeRawBufferPointer?,
        dropped: UnsafeRawBufferPointer?, more: Bool
    ) {
        let from = catchUp.reset ? 0 : subscription.from
        let isFirst = !catchUp.isOpen
        let isReset = catchUp.reset
        let isWhole = states != nil || dropped != nil || !isFirst
        let isOneCommit =
            catchUp.commit == machine.revision || machine.revision - subscription.from == 1
        let cause = isOneCommit && !more && !isReset ? lateCause(for: subscription) : nil
        // Where the cause is not known any more, it is as if there were several.
        let isCoalesced = !isOneCommit || subscription.group.key.cause && cause == nil
        connections.write(to: subscription.connection) { writer in
            appendHead(subscription.number, from: isFirst ? from : nil, to: writer)
            if isFirst && isReset { writer.appendReset() }
            if !isReset, !more, isWhole, isCoalesced {
                writer.append(coalesced: machine.revision - subscription.from)
            }
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            if states != nil || isReset {
                writer.append(.states, states ?? nothing)
            } else if dropped == nil {
                writer.append(.changes, nothing)
            }
            if let dropped { writer.append(.dropped, dropped) }
            if let cause, isWhole, (states?.count ?? 0) + (dropped?.count ?? 0) + cause.count <= partLimit {
                writer.append(cause.bytes)
            }
            writer.appendEndOfChange(more: more)
        }
        catchUp.isOpen = true
        totals.events += 1
        subscription.connection.delivery.note()
    }

    /// The cause of the last commit, where somebody was late for it.
    private func lateCause(for subscription: Subscription) -> ByteWriter? {
        subscription.group.key.cause && publication.causeRevision == machine.revision
            ? publication.cause : nil
    }
}
