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
        publishChanges(excluding: dropped.isEmpty ? [] : Set(dropped))
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
        statistics.commits += 1
        sequenceBefore = sequence
        publication.changed = 0
        if publication.cause != nil { publication.cause = nil }
    }

    func finishPublication(by: [UInt8], actions: Bool) {
        let due = shapesDueForBookmark()
        deliver(by: by, actions: actions, bookmarking: due)
        for index in publication.shapes.indices {
            publication.shapes[index]._withUnsafeGuaranteedRef { $0.content = nil }
            Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef { $0.relax() }
        }
        publication.shapes.clear()
    }

    private func publishChanges(excluding dropped: Set<Int32>) {
        // Stores of one type follow each other, so what belongs to the type is taken up once.
        if touches.isEmpty { return }
        var type = Unmanaged.passUnretained(types[Int(stores.pointer(touches[0].store).pointee.type)])
        var typeIndex = stores.pointer(touches[0].store).pointee.type
        for index in touches.indices {
            let store = touches[index].store
            let record = stores.pointer(store)
            record.pointee.touch = -1
            if !dropped.isEmpty, dropped.contains(store) { continue }
            gatherEntries(ofTouch: index)
            if entries.isEmpty { continue }
            if record.pointee.type != typeIndex {
                typeIndex = record.pointee.type
                type = .passUnretained(types[Int(typeIndex)])
            }
            // The engine holds its types, and their lists and the records' hold the shapes; nothing here changes them.
            type._withUnsafeGuaranteedRef { type in
                bump(store, record, type)
                for place in 0..<type.shapes.count {
                    Unmanaged.passUnretained(type.shapes[place])._withUnsafeGuaranteedRef {
                        encodeChange(of: record, type, for: $0)
                    }
                }
                for place in 0..<record.pointee.shapes.count {
                    Unmanaged.passUnretained(record.pointee.shapes[place])._withUnsafeGuaranteedRef {
                        encodeChange(of: record, type, for: $0)
                    }
                }
            }
        }
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
        for shape in type.shapes { encodeState(of: record, type, for: shape) }
        for shape in record.pointee.shapes { encodeState(of: record, type, for: shape) }
    }

    /// A store goes.
    func publishDrop(of index: Int32) {
        let record = stores.pointer(index)
        let type = types[Int(record.pointee.type)]
        publication.changed += 1
        for shape in type.shapes + record.pointee.shapes where !shape.key.actions {
            guard let content = content(of: shape) else { continue }
            let start = beginItem(content.dropped, record, type)
            content.dropped.itemEnded(startingAt: start, limit: partLimit)
        }
    }

    // MARK: Encoding

    /// How long the encoded items of one event may be, so that the event fits into a line.
    var partLimit: Int { limits.line - Limits.eventOverhead / 2 }

    /// Where the shape's content of this commit is gathered; nil when nobody would take it live.
    @inline(__always)
    func content(of shape: Shape) -> ShapeContent? {
        if let content = shape.content { return content }
        guard shape.hasLiveSubscribers else { return nil }
        let index = publication.shapes.count
        publication.shapes.append(.passUnretained(shape))
        if index == publication.contents.count { publication.contents.append(ShapeContent()) }
        let content = publication.contents[index]
        content.clear()
        shape.content = content
        return content
    }

    private func encodeChange(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape
    ) {
        if shape.key.actions { return }
        if !shape.hasSelection {
            guard let content = content(of: shape) else { return }
            return encode(entries.elements[...], of: record, type, for: shape, into: content)
        }
        guard shape.hasLiveSubscribers else { return }
        restricted.clear()
        shape.selection!.restrict(entries.elements[...], of: record.pointee.state, to: restricted)
        guard !restricted.isEmpty, let content = content(of: shape) else { return }
        encode(restricted.elements[...], of: record, type, for: shape, into: content)
    }

    @inline(__always)
    private func encode(
        _ entries: DeltaEntries, of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for shape: Shape, into content: ShapeContent
    ) {
        let changes = content.changes
        switch shape.key.format {
        case .merge:
            let start = beginItem(changes, record, type)
            changes.bytes.append(UInt8(ascii: ":"))
            if ChangeEncoder.appendMember(entries, to: changes.bytes)
                || ChangeEncoder.appendMerge(entries, of: record.pointee.state, to: changes.bytes),
                changes.bytes.count - start <= partLimit
            {
                return changes.itemEnded(startingAt: start, limit: partLimit)
            }
            changes.bytes.truncate(to: start)
        case .patch:
            let start = beginItem(changes, record, type)
            changes.bytes.append(UInt8(ascii: ":"))
            ChangeEncoder.appendPatch(entries, to: changes.bytes)
            if changes.bytes.count - start <= partLimit {
                return changes.itemEnded(startingAt: start, limit: partLimit)
            }
            changes.bytes.truncate(to: start)
        case .state: break
        }
        appendState(of: record, type, for: shape, to: content.states)
    }

    private func encodeState(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape
    ) {
        guard !shape.key.actions, let content = content(of: shape) else { return }
        appendState(of: record, type, for: shape, to: content.states)
    }

    /// Appends `,"type/name":state`, of the selected state.
    func appendState(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for shape: Shape, to list: ItemList
    ) {
        let start = beginItem(list, record, type)
        list.bytes.append(UInt8(ascii: ":"))
        let state = record.pointee.state
        list.bytes.append(jsonObject: shape.selection?.project(state) ?? state)
        list.itemEnded(startingAt: start, limit: partLimit)
    }

    /// Appends `,"type/name"` and gives where it began. Names need no escapes.
    @inline(__always)
    private func beginItem(
        _ list: ItemList, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry
    ) -> Int {
        let start = list.bytes.count
        list.bytes.append(raw: type.itemStart)
        list.bytes.append(raw: record.pointee.name)
        list.bytes.append(UInt8(ascii: "\""))
        return start
    }
}
