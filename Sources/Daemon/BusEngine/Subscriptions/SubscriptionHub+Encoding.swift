import BusJSON
import BusMachine
import BusState

/// Encodes changes and states for a group.
extension SubscriptionHub {
    /// How long the encoded items of one event may be, so that the event fits into a line.
    @inline(__always)
    var partLimit: Int { connections.limits.line - DaemonLimits.eventOverhead / 2 }

    /// Encodes the members that changed as a merge patch, or the whole state where a patch can't express it.
    func encodeMembers(
        of record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, for group: SubscriberGroup,
        into content: GroupContent
    ) {
        let changes = content.changes
        let start = beginItem(changes, record, type)
        if machine.appendMemberChanges(to: changes.bytes),
            changes.bytes.count - start <= partLimit
        {
            changes.itemEnded(startingAt: start, limit: partLimit)
            return count(changes.bytes.count - start, of: content, for: group)
        }
        changes.bytes.truncate(to: start)
        // A group that takes members alone selects nothing.
        appendState(of: -1, record, type, for: group, into: content)
    }

    func encodeEntries(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for group: SubscriberGroup
    ) {
        if !group.hasSelection {
            guard let content = content(of: group) else { return }
            return encode(
                machine.entries.elements[...], of: store, record, type, for: group, into: content)
        }
        guard group.hasLiveSubscribers || group.selectedChanges != nil else { return }
        if isPublicationLong, group.content == nil || publication.groups.count > 1 { return lag(group) }
        clock.work &+= Work.selection
        clock.deliveredWork &+= Work.selection
        if group.hasLiveSubscribers { scheduler.bill(Work.selection, to: group.subscribers[0].connection) }
        restricted.clear()
        if let selection = group.selection(of: store) {
            selection.restrict(machine.entries.elements[...], of: record.pointee.state, to: restricted)
        } else {
            for entry in machine.entries.elements { restricted.append(entry) }
        }
        if restricted.isEmpty { return }
        noteSelected(store, of: group)
        guard let content = content(of: group) else { return }
        content.selected.append(store)
        encode(restricted.elements[...], of: store, record, type, for: group, into: content)
    }

    private func encode(
        _ entries: DeltaEntries, of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>,
        _ type: TypeEntry, for group: SubscriberGroup, into content: GroupContent
    ) {
        let changes = content.changes
        let start = beginItem(changes, record, type)
        let isEncoded: Bool
        switch group.key.format {
        case .merge:
            isEncoded = ChangeEncoder.appendMerge(entries, of: record.pointee.state, to: changes.bytes)
        case .patch:
            ChangeEncoder.appendPatch(entries, to: changes.bytes)
            isEncoded = true
        case .state: isEncoded = false
        }
        if isEncoded, changes.bytes.count - start <= partLimit {
            changes.itemEnded(startingAt: start, limit: partLimit)
            return count(changes.bytes.count - start, of: content, for: group)
        }
        changes.bytes.truncate(to: start)
        appendState(of: store, record, type, for: group, into: content)
    }

    private func appendState(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for group: SubscriberGroup, into content: GroupContent
    ) {
        let start = content.states.bytes.count
        appendState(of: store, record, type, for: group, to: content.states)
        count(content.states.bytes.count - start, of: content, for: group)
    }

    func encodeState(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for group: SubscriberGroup
    ) {
        if group.key.actions { return }
        // A store that was replaced may be what it was in all that is seen of it.
        if group.seesParts, machine.revision(of: store, seenBy: group.key.view) < machine.revision { return }
        noteSelected(store, of: group)
        guard let content = content(of: group) else { return }
        if group.hasSelection { content.selected.append(store) }
        appendState(of: store, record, type, for: group, into: content)
    }

    /// Appends `,"type/name":state`, of the selected state.
    func appendState(
        of store: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry,
        for group: SubscriberGroup, to list: ItemList
    ) {
        let start = beginItem(list, record, type)
        let state = record.pointee.state
        list.bytes.append(jsonObject: group.selection(of: store)?.project(state) ?? state)
        list.itemEnded(startingAt: start, limit: partLimit)
    }

    /// Appends `,"type/name":` and returns where it began.
    @inline(__always)
    private func beginItem(
        _ list: ItemList, _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry
    ) -> Int {
        let start = list.bytes.count
        list.bytes.write(atMost: addressRoom(record, type)) { pen in
            pen.append(UInt8(ascii: ","))
            pen.append(addressOf: record, type)
            pen.append(UInt8(ascii: ":"))
        }
        return start
    }

    /// How much room an address with quotes and a few more bytes takes.
    @inline(__always)
    func addressRoom(_ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry) -> Int {
        type.addressStart.utf8.count &+ record.pointee.name.utf8.count &+ 8
    }
}

extension BytePen {
    /// Appends `"type/name"`. Names need no escapes.
    @inline(__always)
    mutating func append(addressOf record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry) {
        append(raw: type.addressStart)
        append(raw: record.pointee.name)
        append(UInt8(ascii: "\""))
    }
}
