import BusJSON
import BusProtocol

/// Telling subscriptions that are behind: first states, resumptions and merged changes of slow readers.
///
/// All three are one walk over the stores that changed after a point in the order of changes, a part of an
/// event at a time while the outbox has room. Nothing is kept per missed commit: a reader that never reads
/// costs nothing more, and what it has to be told in the end is what differs.
extension Engine {
    func beginLagging(_ subscription: Subscription, _ catchUp: CatchUp) {
        endCohort(with: subscription.connection)
        beginNoting(subscription.shape, after: sequence)
        subscription.catchUp = catchUp
        subscription.shape.lagging += 1
        subscription.connection.lagging += 1
        subscription.connection.isBlocked = true
    }

    func endLagging(_ subscription: Subscription) {
        subscription.catchUp = nil
        subscription.shape.lagging -= 1
        if subscription.shape.lagging == 0 { endNoting(subscription.shape) }
        subscription.connection.lagging -= 1
    }

    /// Tells a connection's subscriptions what they miss, in order, while there is room.
    func catchUp(_ connection: Connection) {
        for subscription in connection.subscriptions where subscription.catchUp != nil {
            while subscription.catchUp != nil {
                if connection.outbox.count >= outboxLimit || connection.isClosing { return }
                tellPart(to: subscription)
            }
        }
    }

    /// Writes the next part of a subscription's event, or ends it.
    func tellPart(to subscription: Subscription) {
        var catchUp = subscription.catchUp!
        if !dropLog.reaches(back: catchUp.dropsAfter) {
            // The drops since are forgotten: start from nothing, which says the same.
            catchUp.reset = true
            catchUp.isOpen = false
            catchUp.dropsAfter = revision
            (catchUp.floor, catchUp.cursor, catchUp.type) = (0, 0, 0)
            catchUp.ceiling = sequence
        }
        let states = ItemList()
        let finished = gather(into: states, for: subscription.shape, &catchUp)
        guard finished else {
            tell(subscription, &catchUp, states, dropped: ItemList(), more: true)
            subscription.catchUp = catchUp
            return
        }
        let dropped = gatherDrops(for: subscription.shape, after: catchUp.dropsAfter)
        let isEmpty = states.isEmpty && dropped.isEmpty
        if !isEmpty || catchUp.isOpen || catchUp.evenIfEmpty {
            tell(subscription, &catchUp, states, dropped: dropped, more: false)
            subscription.from = revision
        }
        endLagging(subscription)
    }

    /// Gathers states until a part is full; true when there is nothing left to tell.
    private func gather(into list: ItemList, for shape: Shape, _ catchUp: inout CatchUp) -> Bool {
        while true {
            let completed =
                shape.wantsWholeTypes
                ? gatherTypes(into: list, for: shape, &catchUp)
                : gatherMembers(into: list, for: shape, &catchUp)
            guard completed else { return false }
            if catchUp.ceiling == sequence { return true }
            // Something changed while earlier parts went out: another round.
            catchUp.floor = catchUp.ceiling
            catchUp.ceiling = sequence
            catchUp.type = 0
            catchUp.cursor = catchUp.floor
        }
    }

    private func gatherTypes(into list: ItemList, for shape: Shape, _ catchUp: inout CatchUp) -> Bool {
        while catchUp.type < types.count {
            let entry = types[catchUp.type]
            if shape.key.pattern.type.matches(entry.name) {
                var index = entry.firstChanged(after: catchUp.cursor)
                while index >= 0 {
                    let record = stores.pointer(index)
                    if record.pointee.sequence > catchUp.ceiling { break }
                    guard append(index, entry, for: shape, catchUp, to: list) else { return false }
                    catchUp.cursor = record.pointee.sequence
                    index = record.pointee.newer
                }
            }
            catchUp.type += 1
            catchUp.cursor = catchUp.floor
        }
        return true
    }

    private func gatherMembers(into list: ItemList, for shape: Shape, _ catchUp: inout CatchUp) -> Bool {
        let due = shape.members
            .map { (store: $0, record: stores.pointer($0)) }
            .filter { $1.pointee.sequence > catchUp.cursor && $1.pointee.sequence <= catchUp.ceiling }
            .sorted { $0.record.pointee.sequence < $1.record.pointee.sequence }
        for (store, record) in due {
            let type = types[Int(record.pointee.type)]
            guard append(store, type, for: shape, catchUp, to: list) else { return false }
            catchUp.cursor = record.pointee.sequence
        }
        return true
    }

    /// Appends one store's state, unless it is known to be what it was; false, with nothing appended, when the part is full.
    private func append(
        _ store: Int32, _ type: TypeEntry, for shape: Shape, _ catchUp: CatchUp, to list: ItemList
    ) -> Bool {
        if !catchUp.reset, isUntouched(store, for: shape, after: catchUp.start) { return true }
        let start = list.bytes.count
        appendState(of: stores.pointer(store), type, for: shape, to: list)
        if list.bytes.count > partLimit, start > 0 {
            list.cutBack(to: start)
            return false
        }
        return true
    }

    /// The addresses of stores that went after a revision and are not back.
    private func gatherDrops(for shape: Shape, after revision: Int) -> ItemList {
        let list = ItemList()
        var told: Set<String> = []
        for drop in dropLog.after(revision) {
            let type = types[Int(drop.type)].name
            guard shape.key.pattern.type.matches(type), shape.key.pattern.name.matches(drop.name) else {
                continue
            }
            let address = "\(type)/\(drop.name)"
            guard state(at: address) == nil, told.insert(address).inserted else { continue }
            let start = list.bytes.count
            list.bytes.append(UInt8(ascii: ","))
            list.bytes.append(quoted: address)
            list.itemEnded(startingAt: start, limit: partLimit)
        }
        return list
    }

    /// Writes one part; `dropped` goes into parts of its own where it does not fit beside the states.
    private func tell(
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
        write(to: subscription.connection) { writer in
            self.appendHead(subscription.number, from: isFirst ? from : nil, to: writer)
            if isFirst && isReset { writer.append(",\"reset\":true") }
            if !isReset, !more, states != nil || dropped != nil || !isFirst {
                writer.append(",\"coalesced\":")
                writer.append(decimal: self.revision - subscription.from)
            }
            if states != nil || isReset {
                writer.append(",\"states\":{")
                if let states { writer.append(states) }
                writer.append(UInt8(ascii: "}"))
            } else if dropped == nil {
                writer.append(",\"changes\":{}")
            }
            if let dropped {
                writer.append(",\"dropped\":[")
                writer.append(dropped)
                writer.append(UInt8(ascii: "]"))
            }
            writer.append(more ? ",\"more\":true}\n" : "}\n")
        }
        catchUp.isOpen = true
        statistics.events += 1
    }
}
