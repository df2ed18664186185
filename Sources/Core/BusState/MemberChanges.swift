import BusJSON

/// What a commit did to a state, if each of its writes went to a place of its own that only objects lead to: as it
/// mostly does, computed values among them.
///
/// The undo log and the state are read in place, until one of them changes: copying paths and values would cost as much
/// as encoding them. Its storage is reused by all commits.
package final class MemberChanges {
    /// One write and what came of it.
    private struct Change {
        let record: UnsafePointer<UndoLog.Record>
        /// The index of the state's member that was written or leads to what was; -1: it was removed.
        let index: Int
        /// The value now; nil: it was removed.
        let after: UnsafePointer<JSON>?
    }

    /// The most writes that are considered: they are put in order by moving each to its place,
    /// and most are in order already.
    private static let most = 16

    /// In the order of their paths, which is that of the members.
    private let changes = Stack<Change>()

    package init() {}

    /// Whether no write had an effect: all values are what they were before.
    @inline(__always)
    package var isEmpty: Bool { changes.isEmpty }

    /// Collects all writes to a state. False where they can't be expressed so: one went through an array, or one went to
    /// the place of another or below it.
    package func gather(
        _ records: UnsafeBufferPointer<UndoLog.Record>, in state: UnsafePointer<JSONObject>
    ) -> Bool {
        changes.clear()
        if records.count > Self.most { return false }
        for place in records.indices {
            let record = records.baseAddress! + place
            let index = state.pointee.index(of: record.pointee.path[0], hint: record.pointee.hint)
            var after = index.map { state.pointee.place(at: $0) }
            if record.pointee.path.count > 1, !Self.follow(record, to: &after) { return false }
            let change = Change(record: record, index: index ?? -1, after: after)
            if records.count == 1, Self.cameToNothing(change) { return true }
            guard insert(change) else { return false }
        }
        if records.count > 1 { leaveOutWhatCameToNothing() }
        return true
    }

    /// Follows a record's path from the member of the state that it begins with. False where it does not lead through
    /// objects alone.
    private static func follow(
        _ record: UnsafePointer<UndoLog.Record>, to place: inout UnsafePointer<JSON>?
    ) -> Bool {
        for depth in 1..<record.pointee.path.count {
            guard let here = place, here.pointee.isObject else { return false }
            place = here.place(of: record.pointee.path[depth])
        }
        return true
    }

    @inline(__always)
    private func insert(_ change: Change) -> Bool {
        var place = changes.count
        changes.append(change)
        while place > 0 {
            let before = changes[place - 1]
            guard let precedes = Self.precedes(change, before) else { return false }
            if !precedes { break }
            changes[place] = before
            place -= 1
            changes[place] = change
        }
        return true
    }

    /// Whether a change comes before another one; nil where one's place is that of the other or lies below it.
    @inline(__always)
    private static func precedes(_ change: Change, _ other: Change) -> Bool? {
        if change.index != other.index, change.index >= 0, other.index >= 0 {
            return change.index < other.index
        }
        return precedes(change.record, other.record)
    }

    @inline(never)
    private static func precedes(
        _ left: UnsafePointer<UndoLog.Record>, _ right: UnsafePointer<UndoLog.Record>
    ) -> Bool? {
        for depth in 0..<min(left.pointee.path.count, right.pointee.path.count)
        where !UTF8Order.equal(left.pointee.path[depth], right.pointee.path[depth]) {
            return UTF8Order.precedes(left.pointee.path[depth], right.pointee.path[depth])
        }
        return nil
    }

    private func leaveOutWhatCameToNothing() {
        var kept = 0
        for place in changes.indices where !Self.cameToNothing(changes[place]) {
            if kept < place { changes[kept] = changes[place] }
            kept += 1
        }
        changes.cut(to: kept)
    }

    @inline(__always)
    private static func cameToNothing(_ change: Change) -> Bool {
        guard let after = change.after else { return false }
        switch change.record.pointee.before {
        case .value(.int(let before)):
            if case .int(let now) = after.pointee { return now == before }
            return false
        case .value(.double(let before)):
            if case .double(let now) = after.pointee { return now.bitPattern == before.bitPattern }
            return false
        case .value(let before): return after.pointee == before
        case .absent, .elements: return false
        }
    }

    /// Writes a merge patch. False, with nothing written, when a merge patch can't express it exactly.
    package func appendMerge(to writer: ByteWriter) -> Bool {
        if changes.count == 1, changes[0].record.pointee.path.count == 1,
            case .int(let number)? = changes[0].after?.pointee
        {
            writer.append(onlyMember: changes[0].record.pointee.path[0], number)
            return true
        }
        let mark = writer.count
        if append(changes.indices, depth: 0, to: writer) { return true }
        writer.truncate(to: mark)
        return false
    }

    /// Writes the patch object for changes whose paths have their first `depth` segments in common.
    private func append(_ range: Range<Int>, depth: Int, to writer: ByteWriter) -> Bool {
        var place = range.lowerBound
        if range.isEmpty { writer.append(UInt8(ascii: "{")) }
        while place < range.upperBound {
            let record = changes[place].record
            let mark = place == range.lowerBound ? UInt8(ascii: "{") : UInt8(ascii: ",")
            var next = place + 1
            if record.pointee.path.count == depth + 1, case .int(let number)? = changes[place].after?.pointee
            {
                writer.append(mark, member: record.pointee.path[depth], number)
                place = next
                continue
            }
            writer.append(mark, member: record.pointee.path[depth])
            if record.pointee.path.count == depth + 1 {
                guard Self.appendValue(changes[place], to: writer) else { return false }
            } else {
                while next < range.upperBound, isSame(place, next, at: depth) { next += 1 }
                guard append(place..<next, depth: depth + 1, to: writer) else { return false }
            }
            place = next
        }
        writer.append(UInt8(ascii: "}"))
        return true
    }

    /// Whether the paths of two changes, the same up to a depth, go on alike.
    private func isSame(_ place: Int, _ other: Int, at depth: Int) -> Bool {
        UTF8Order.equal(changes[place].record.pointee.path[depth], changes[other].record.pointee.path[depth])
    }

    @inline(__always)
    private static func appendValue(_ change: Change, to writer: ByteWriter) -> Bool {
        switch change.after?.pointee {
        case .double(let number)?: writer.append(double: number)
        case .bool(let flag)?: if flag { writer.append("true") } else { writer.append("false") }
        case let after:
            if case .value(let before) = change.record.pointee.before {
                return ChangeEncoder.appendMergeValue(from: before, to: after, into: writer)
            }
            return ChangeEncoder.appendMergeValue(from: nil, to: after, into: writer)
        }
        return true
    }
}
