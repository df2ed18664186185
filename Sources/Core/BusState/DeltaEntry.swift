import BusJSON

/// One place of a state that differs after a commit.
package struct DeltaEntry {
    package let path: [String]
    /// The old value; nil: none, or see `appendedFrom`.
    package let before: JSON?
    /// The new value; nil: none.
    package let after: JSON?
    /// For an array that only grew: how many elements it had. Else nil.
    package let appendedFrom: Int?

    package init(path: [String], before: JSON?, after: JSON?, appendedFrom: Int? = nil) {
        self.path = path
        self.before = before
        self.after = after
        self.appendedFrom = appendedFrom
    }
}

/// The entries of one state, in place.
package typealias DeltaEntries = Slice<UnsafeBufferPointer<DeltaEntry>>

/// Derives from an undo log what a commit changed in one state: each place once, with its value before the commit and
/// its value now. Writes without effect are left out; the cost grows with the writes.
package struct DeltaBuilder {
    /// In place; nothing is recorded while entries are derived.
    private let records: UnsafeBufferPointer<UndoLog.Record>
    private let state: JSONObject

    /// Appends the entries for the writes in `ranges`, all of which went into `state`.
    package static func append(
        _ ranges: [Range<Int>], of undoLog: UndoLog, state: JSONObject,
        to entries: borrowing Stack<DeltaEntry>
    ) {
        let builder = DeltaBuilder(records: undoLog.records.elements, state: state)
        let sorted = ranges.flatMap { Array($0) }.sorted { builder.precedes($0, $1) }
        builder.appendGroups(sorted[...], to: entries)
    }

    /// Appends the entry for the only write to a state, which is read in place: copying would cost as much as the entry.
    package static func append(
        only record: UnsafePointer<UndoLog.Record>, in state: UnsafePointer<JSONObject>,
        to entries: borrowing Stack<DeltaEntry>
    ) {
        let path = record.pointee.path
        let after =
            path.count == 1
            ? state.pointee.value(of: path[0], hint: record.pointee.hint) : state.pointee.value(at: path)
        var (before, appendedFrom): (JSON?, Int?) = (nil, nil)
        switch record.pointee.before {
        case .value(let value): before = value
        case .absent: break
        case .elements(let count): appendedFrom = count
        }
        if before != nil, after == before { return }
        entries.append(DeltaEntry(path: path, before: before, after: after, appendedFrom: appendedFrom))
    }

    /// By path, then by time: what lies below a path follows it directly.
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (a, b) = (records[left].path, records[right].path)
        for (x, y) in zip(a, b) where !UTF8Order.equal(x, y) { return UTF8Order.precedes(x, y) }
        return a.count == b.count ? left < right : a.count < b.count
    }

    private func isBelow(_ path: [String], _ ancestor: [String]) -> Bool {
        path.count >= ancestor.count && zip(path, ancestor).allSatisfy { UTF8Order.equal($0, $1) }
    }

    private func appendGroups(_ sorted: ArraySlice<Int>, to entries: borrowing Stack<DeltaEntry>) {
        var rest = sorted
        while let first = rest.first {
            let path = records[first].path
            let group = rest.prefix { isBelow(records[$0].path, path) }
            rest = rest.dropFirst(group.count)
            append(group, at: path, to: entries)
        }
    }

    /// Appends the entries for all writes at or below one path.
    private func append(
        _ group: ArraySlice<Int>, at path: [String], to entries: borrowing Stack<DeltaEntry>
    ) {
        let here = group.prefix { records[$0].path.count == path.count }
        let after = state.value(at: path)
        let replaced = here.first { if case .elements = records[$0].before { false } else { true } }
        guard let replaced else {
            guard case .elements(let count) = records[here.first!].before else { return }
            entries.append(DeltaEntry(path: path, before: nil, after: after, appendedFrom: count))
            // Writes into the new elements are part of what was appended.
            let below = group.dropFirst(here.count).filter {
                (arrayIndex(records[$0].path[path.count]) ?? count) < count
            }
            return appendGroups(below[...], to: entries)
        }
        guard case .value(var before) = records[replaced].before else {
            if after != nil { entries.append(DeltaEntry(path: path, before: nil, after: after)) }
            return
        }
        // The recorded value is that at the time of the write; earlier writes into it are rolled back.
        for index in group.filter({ $0 < replaced }).sorted(by: >) {
            UndoLog.restore(records[index].before, at: records[index].path[path.count...], in: &before)
        }
        if after != before { entries.append(DeltaEntry(path: path, before: before, after: after)) }
    }
}
