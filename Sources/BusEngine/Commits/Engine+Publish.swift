import BusJSON
import BusProtocol
import BusState

/// A commit becomes visible: the revision counts on, and every subscription that it concerns is told, each
/// shape's change encoded once.
extension Engine {
    /// Publishes what `perform` did. `by` is the encoded identity of its client; `actions`: the plan holds
    /// the actions that caused it.
    func publish(
        by: [UInt8], actions: Bool, created: [Int32] = [], dropped: [Int32] = [],
        facts: @autoclosure () -> CommitFacts = CommitFacts()
    ) {
        beginPublication()
        publishChanges(
            excluding: dropped.isEmpty ? [] : Set(dropped),
            atOnce: touches.count == 1 && created.isEmpty && dropped.isEmpty)
        for index in created { publishState(of: index) }
        for index in dropped { publishDrop(of: index) }
        if actions, actionShapeCount > 0 { publishActions(by: by) }
        finishPublication(by: by, actions: actions)
        if isLogged { log(by: by, actions: actions, created: created, dropped: dropped, facts()) }
        // A will may have acted on a store that goes in the same commit: its record serves until all is told.
        for index in dropped { remove(index) }
        forgetTouches()
    }

    func beginPublication() {
        revision += 1
        previousDigits = revisionDigits
        revisionDigits = KeptDecimal(revision)
        statistics.commits += 1
        sequenceBefore = sequence
        // As long as making the commit took, and a little more for small ones.
        publication.liveUntil = work &+ Limits.liveWork &+ Work.commitStore &* touches.count
        publication.bytes = 0
        publication.changed = 0
        if publication.cause != nil { publication.cause = nil }
    }

    func finishPublication(by: [UInt8], actions: Bool) {
        let tells = !publication.shapes.isEmpty
        let start = work
        defer { deliveredWork &+= work &- start }
        if tells { deliver(by: by, actions: actions) }
        bookmarkDueShapes()
        if !publication.ordered.isEmpty { deliverInOrder(by: by, actions: actions) }
        if tells { forgetContents() }
    }

    private func forgetContents() {
        for index in publication.shapes.indices {
            publication.shapes[index]._withUnsafeGuaranteedRef { $0.content = nil }
            Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef {
                if $0.size > Limits.usualContent { noteLargeCommit() }
            }
        }
        publication.shapes.clear()
    }

    /// `atOnce`: the commit is about one store, so that who is told alone may be told while the change is encoded.
    private func publishChanges(excluding dropped: Set<Int32>, atOnce: Bool) {
        // Stores of one type follow each other, so what belongs to the type is taken up once.
        if touches.isEmpty { return }
        var typeIndex: Int32 = 0
        var type = Unmanaged.passUnretained(types[0])
        for index in touches.indices {
            let store = touches[index].store
            let record = stores.pointer(store)
            record.pointee.touch = -1
            if !dropped.isEmpty, dropped.contains(store) { continue }
            let byMembers = gatherMemberChanges(ofTouch: index, record)
            if byMembers {
                if memberChanges.isEmpty { continue }
                entries.clear()
            } else {
                gatherEntries(ofTouch: index)
                if entries.isEmpty { continue }
            }
            if record.pointee.type != typeIndex {
                typeIndex = record.pointee.type
                type = .passUnretained(types[Int(typeIndex)])
            }
            // The engine holds its types, and their lists and the records' hold the shapes; nothing here changes them.
            type._withUnsafeGuaranteedRef { type in
                bump(store, record, type)
                for place in 0..<type.shapes.count {
                    Unmanaged.passUnretained(type.shapes[place])._withUnsafeGuaranteedRef {
                        publishChange(ofTouch: index, record, type, for: $0, byMembers: byMembers, atOnce)
                    }
                }
                for place in 0..<record.pointee.shapes.count {
                    Unmanaged.passUnretained(record.pointee.shapes[place])._withUnsafeGuaranteedRef {
                        publishChange(ofTouch: index, record, type, for: $0, byMembers: byMembers, atOnce)
                    }
                }
            }
        }
    }

    /// What the commit did to a store, left in `memberChanges`; false if that can't hold it.
    @inline(__always)
    private func gatherMemberChanges(
        ofTouch index: Int, _ record: UnsafeMutablePointer<StoreRecord>
    ) -> Bool {
        let touch = touches[index]
        if touch.further >= 0 { return false }
        let records = touch.records.isEmpty ? nil : journal.record(touch.records.lowerBound)
        return memberChanges.gather(
            UnsafeBufferPointer(start: records, count: touch.records.count), in: &record.pointee.state)
    }

    /// Publishes a store's change for one shape. Where its members are not enough, entries tell what changed, which are
    /// gathered when the first shape wants them.
    @inline(__always)
    private func publishChange(
        ofTouch index: Int, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape,
        byMembers: Bool, _ atOnce: Bool
    ) {
        if byMembers, shape.isPlain {
            if atOnce, tellAtOnce(record, type, to: shape) { return }
            guard let content = content(of: shape) else { return }
            return encodeMembers(of: record, type, for: shape, into: content)
        }
        if shape.key.actions { return }
        if entries.isEmpty { gatherEntries(ofTouch: index) }
        encodeEntries(of: touches[index].store, record, type, for: shape)
    }

    /// The store changed in this commit.
    @inline(__always)
    func bump(_ index: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry) {
        publication.changed += 1
        sequence += 1
        record.pointee.revision = revision
        record.pointee.sequence = sequence
        type.moveToNewest(index)
    }

    /// A store that is new, or wholly new: its state goes out.
    func publishState(of index: Int32) {
        let record = stores.pointer(index)
        let type = types[Int(record.pointee.type)]
        bump(index, record, type)
        for shape in type.shapes { encodeState(of: index, record, type, for: shape) }
        for shape in record.pointee.shapes { encodeState(of: index, record, type, for: shape) }
    }

    /// A store goes.
    func publishDrop(of index: Int32) {
        let record = stores.pointer(index)
        let type = types[Int(record.pointee.type)]
        publication.changed += 1
        for shape in type.shapes + record.pointee.shapes where !shape.key.actions {
            guard let content = content(of: shape) else { continue }
            let list = content.dropped
            let start = list.bytes.count
            list.bytes.write(atMost: addressRoom(record, type)) { pen in
                pen.append(UInt8(ascii: ","))
                append(addressOf: record, type, to: &pen)
            }
            list.itemEnded(startingAt: start, limit: partLimit)
            count(list.bytes.count - start, of: content, for: shape)
        }
    }

    // MARK: Encoding

    /// How long the encoded items of one event may be, so that the event fits into a line.
    var partLimit: Int { limits.line - Limits.eventOverhead / 2 }

    /// Where the shape's content of this commit is gathered; nil when nobody would take it live.
    @inline(__always)
    func content(of shape: Shape) -> ShapeContent? {
        if let content = shape.content {
            if content.isAbandoned { return nil }
            // One group alone is told all, up to what is encoded at once.
            if !isPublicationLong || publication.shapes.count == 1 || shape.key.actions { return content }
            lag(shape)
            return nil
        }
        guard shape.hasLiveSubscribers else { return nil }
        if isPublicationLong, !shape.key.actions {
            lag(shape)
            return nil
        }
        work &+= Work.group
        let index = publication.shapes.count
        publication.shapes.append(.passUnretained(shape))
        if index == publication.contents.count { publication.contents.append(ShapeContent()) }
        let content = publication.contents[index]
        content.clear()
        shape.content = content
        return content
    }

    /// Encodes the members that changed as a merge patch, or the whole state where that can't say it.
    private func encodeMembers(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape,
        into content: ShapeContent
    ) {
        let changes = content.changes
        let start = beginItem(changes, record, type)
        if memberChanges.appendMerge(of: &record.pointee.state, to: changes.bytes),
            changes.bytes.count - start <= partLimit
        {
            changes.itemEnded(startingAt: start, limit: partLimit)
            return count(changes.bytes.count - start, of: content, for: shape)
        }
        changes.bytes.truncate(to: start)
        appendState(of: record, type, for: shape, into: content)
    }

    /// Counts what has been encoded for a shape; too much is not told live.
    @inline(__always)
    private func count(_ bytes: Int, of content: ShapeContent, for shape: Shape) {
        work &+= bytes
        publication.bytes &+= bytes
        if publication.bytes > Limits.liveBytes { lag(shape) }
    }

    /// Whether so much has been done for this commit that whoever has not been told of it lags behind.
    @inline(__always)
    var isPublicationLong: Bool { work > publication.liveUntil }

    /// A shape's subscribers are not told of this commit live: they lag behind, and are told when it is their turn.
    func lag(_ shape: Shape) {
        if let content = shape.content {
            publication.bytes -= content.size
            content.clear()
            content.isAbandoned = true
        }
        // It is as well to tell them more than need be.
        endNoting(shape)
        let start = work
        // From the end: the last one changes places with nobody.
        while shape.hasLiveSubscribers {
            Unmanaged.passUnretained(shape.subscribers[shape.liveCount - 1])._withUnsafeGuaranteedRef {
                fallBehind($0)
            }
        }
        deliveredWork += work - start
    }

    /// A subscription is told of this commit later, together with what comes until then.
    @inline(__always)
    func fallBehind(_ subscription: Subscription) {
        work &+= Work.fall
        statistics.coalesced += 1
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            bill(Work.fall, to: connection)
            if isPublicationLong { noteFall(of: connection) }
            beginLagging(
                subscription,
                CatchUp(
                    reset: false, evenIfEmpty: false, dropsAfter: revision - 1, floor: sequenceBefore,
                    ceiling: sequence))
            // To be told of a commit costs at most what making it did, about.
            if !connection.isQueued { enqueue(connection, expecting: min(workOfSlice, limits.turnWork)) }
        }
    }

    private func encodeEntries(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape
    ) {
        if !shape.hasSelection {
            guard let content = content(of: shape) else { return }
            return encode(entries.elements[...], of: record, type, for: shape, into: content)
        }
        guard shape.hasLiveSubscribers || shape.selectedChanges != nil else { return }
        if isPublicationLong, shape.content == nil || publication.shapes.count > 1 { return lag(shape) }
        work &+= Work.selection
        deliveredWork &+= Work.selection
        if shape.hasLiveSubscribers { bill(Work.selection, to: shape.subscribers[0].connection) }
        restricted.clear()
        shape.selection!.restrict(entries.elements[...], of: record.pointee.state, to: restricted)
        if restricted.isEmpty { return }
        noteSelected(store, of: shape)
        guard let content = content(of: shape) else { return }
        content.selected.append(store)
        encode(restricted.elements[...], of: record, type, for: shape, into: content)
    }

    private func encode(
        _ entries: DeltaEntries, of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for shape: Shape, into content: ShapeContent
    ) {
        let changes = content.changes
        let start = beginItem(changes, record, type)
        let isEncoded: Bool
        switch shape.key.format {
        case .merge:
            isEncoded = ChangeEncoder.appendMerge(entries, of: record.pointee.state, to: changes.bytes)
        case .patch:
            ChangeEncoder.appendPatch(entries, to: changes.bytes)
            isEncoded = true
        case .state: isEncoded = false
        }
        if isEncoded, changes.bytes.count - start <= partLimit {
            changes.itemEnded(startingAt: start, limit: partLimit)
            return count(changes.bytes.count - start, of: content, for: shape)
        }
        changes.bytes.truncate(to: start)
        appendState(of: record, type, for: shape, into: content)
    }

    private func appendState(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape,
        into content: ShapeContent
    ) {
        let start = content.states.bytes.count
        appendState(of: record, type, for: shape, to: content.states)
        count(content.states.bytes.count - start, of: content, for: shape)
    }

    private func encodeState(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape
    ) {
        if shape.key.actions { return }
        noteSelected(store, of: shape)
        guard let content = content(of: shape) else { return }
        if shape.hasSelection { content.selected.append(store) }
        appendState(of: record, type, for: shape, into: content)
    }

    /// Appends `,"type/name":state`, of the selected state.
    func appendState(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape, to list: ItemList
    ) {
        let start = beginItem(list, record, type)
        let state = record.pointee.state
        list.bytes.append(jsonObject: shape.selection?.project(state) ?? state)
        list.itemEnded(startingAt: start, limit: partLimit)
    }

    /// Appends `,"type/name":` and gives where it began.
    @inline(__always)
    private func beginItem(
        _ list: ItemList, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry
    ) -> Int {
        let start = list.bytes.count
        list.bytes.write(atMost: addressRoom(record, type)) { pen in
            pen.append(UInt8(ascii: ","))
            append(addressOf: record, type, to: &pen)
            pen.append(UInt8(ascii: ":"))
        }
        return start
    }

    /// How much room an address with quotes and a little around it takes.
    @inline(__always)
    func addressRoom(_ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry) -> Int {
        type.addressStart.utf8.count &+ record.pointee.name.utf8.count &+ 8
    }

    /// Appends `"type/name"`. Names need no escapes.
    @inline(__always)
    func append(
        addressOf record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, to pen: inout BytePen
    ) {
        pen.append(raw: type.addressStart)
        pen.append(raw: record.pointee.name)
        pen.append(UInt8(ascii: "\""))
    }
}
