import BusJSON

/// What a commit did to a state, if each of its writes went to a place of its own that only objects lead to: as it
/// mostly does, computed values among them.
///
/// The undo log and the state are read in place, until one of them changes: copying paths and values would cost as much
/// as encoding them. Its storage is reused by all commits.
package final class MemberChanges {
    private typealias Path = UnsafePointer<StatePath.Parts>

    /// One write and what came of it.
    private struct Change {
        let record: UnsafePointer<UndoLog.Record>
        /// The index of the state's member that was written or leads to what was; -1: it was removed.
        let index: Int
        /// The value now; nil: it was removed.
        let after: UnsafePointer<JSON>?
        /// Whether the value is what it was before.
        let isNothing: Bool
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

    /// Calls with the name of each member of the state that has changed.
    @inline(__always)
    package func forEachMember(_ body: (String) -> Void) {
        for change in changes.elements { body(change.record.pointee.parts.pointee.keys.pointee.name) }
    }

    /// Collects all writes to a state. False where they can't be expressed so: one went through an array, or one went to
    /// the place of another or below it.
    package func gather(
        _ records: UnsafeBufferPointer<UndoLog.Record>, in state: UnsafePointer<JSONObject>
    ) -> Bool {
        changes.clear()
        if records.count > Self.most { return false }
        var isAnyNothing = false
        for place in records.indices {
            let record = records.baseAddress! + place
            let path = record.pointee.parts
            let index = Self.index(of: path.pointee.keys, in: state)
            var after = index >= 0 ? state.pointee.place(at: index) : nil
            if path.pointee.count > 1, !Self.follow(path, to: &after) { return false }
            let isNothing = Self.cameToNothing(record, after)
            isAnyNothing = isAnyNothing || isNothing
            let change = Change(record: record, index: index, after: after, isNothing: isNothing)
            guard insert(change) else { return false }
        }
        if isAnyNothing { leaveOutWhatCameToNothing() }
        return true
    }

    /// The index of the state's member with a key; -1 where there is none.
    @inline(__always)
    private static func index(
        of key: UnsafePointer<StatePath.Key>, in state: UnsafePointer<JSONObject>
    ) -> Int {
        if state.pointee.has(key.pointee.name, at: key.pointee.hint) { return key.pointee.hint }
        return search(for: key, in: state)
    }

    @inline(never)
    private static func search(
        for key: UnsafePointer<StatePath.Key>, in state: UnsafePointer<JSONObject>
    ) -> Int {
        state.pointee.index(of: key.pointee.name, hint: key.pointee.hint) ?? -1
    }

    /// Follows a path from the member of the state that it begins with. False where it does not lead through objects alone.
    @inline(__always)
    private static func follow(_ path: Path, to place: inout UnsafePointer<JSON>?) -> Bool {
        for depth in 1..<path.pointee.count {
            guard let here = place, here.pointee.isObject else { return false }
            place = here.place(of: path.pointee.keys + depth)
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
        return precedes(change.record.pointee.parts, other.record.pointee.parts)
    }

    @inline(never)
    private static func precedes(_ left: Path, _ right: Path) -> Bool? {
        let depth = shared(left, right)
        if depth == min(left.pointee.count, right.pointee.count) { return nil }
        return UTF8Order.precedes(left.pointee.keys[depth].name, right.pointee.keys[depth].name)
    }

    /// How many segments two paths have in common.
    private static func shared(_ left: Path, _ right: Path) -> Int {
        let most = min(left.pointee.count, right.pointee.count)
        var depth = 0
        while depth < most,
            UTF8Order.equal(left.pointee.keys[depth].name, right.pointee.keys[depth].name)
        {
            depth += 1
        }
        return depth
    }

    private func leaveOutWhatCameToNothing() {
        var kept = 0
        for place in changes.indices where !changes[place].isNothing {
            if kept < place { changes[kept] = changes[place] }
            kept += 1
        }
        changes.cut(to: kept)
    }

    @inline(__always)
    private static func cameToNothing(
        _ record: UnsafePointer<UndoLog.Record>, _ after: UnsafePointer<JSON>?
    ) -> Bool {
        guard let after, record.pointee.kind == .value else { return false }
        let before = record.pointer(to: \.old)!
        switch before.pointee {
        case .int(let number):
            if case .int(let now) = after.pointee { return now == number }
            return false
        case .double(let number):
            if case .double(let now) = after.pointee { return now.bitPattern == number.bitPattern }
            return false
        default: return isEqual(before, after)
        }
    }

    @inline(never)
    private static func isEqual(_ before: UnsafePointer<JSON>, _ after: UnsafePointer<JSON>) -> Bool {
        before.pointee == after.pointee
    }

    /// Writes a merge patch. False, with nothing written, when a merge patch can't express it exactly.
    package func appendMerge(to writer: ByteWriter) -> Bool {
        let mark = writer.count
        var previous: Path?
        for place in changes.indices {
            let path = changes[place].record.pointee.parts
            if !append(place, at: path, after: previous, to: writer) {
                writer.truncate(to: mark)
                return false
            }
            previous = path
        }
        if previous == nil { writer.append(UInt8(ascii: "{")) }
        for _ in 0..<(previous?.pointee.count ?? 1) { writer.append(UInt8(ascii: "}")) }
        return true
    }

    /// Writes a change whose path comes after another one: the objects that it does not lie in are ended, those that it lies
    /// in begun. False when a merge patch can't express it.
    @inline(__always)
    private func append(_ place: Int, at path: Path, after previous: Path?, to writer: ByteWriter) -> Bool {
        var shared = 0
        var ended = 0
        if let previous {
            if previous.pointee.count > 1 {
                if path.pointee.count > 1 { shared = Self.shared(previous, path) }
                ended = previous.pointee.count &- 1 &- shared
            }
        }
        let after = changes[place].after
        let mark = previous == nil ? UInt8(ascii: "{") : UInt8(ascii: ",")
        guard let last = path.pointee.keys[path.pointee.count &- 1].encoded, path.pointee.count == shared &+ 1
        else {
            appendKeys(of: path, from: shared, ended: ended, mark, to: writer)
            return Self.appendValue(changes[place], to: writer)
        }
        if case .int(let number)? = after?.pointee {
            writer.write(atMost: ended &+ 1 &+ EncodedKey.longest &+ 20) { pen in
                for _ in 0..<ended { pen.append(UInt8(ascii: "}")) }
                pen.append(mark)
                pen.append(key: last)
                pen.append(decimal: number)
            }
            return true
        }
        appendKeys(of: path, from: shared, ended: ended, mark, to: writer)
        return Self.appendValue(changes[place], to: writer)
    }

    /// Ends objects, and writes the keys of a path from a depth on, each but the last followed by the object it leads into.
    @inline(never)
    private func appendKeys(
        of path: Path, from shared: Int, ended: Int, _ mark: UInt8, to writer: ByteWriter
    ) {
        for _ in 0..<ended { writer.append(UInt8(ascii: "}")) }
        writer.append(mark)
        for depth in shared..<path.pointee.count {
            if depth > shared { writer.append(UInt8(ascii: "{")) }
            if let key = path.pointee.keys[depth].encoded {
                writer.write(atMost: EncodedKey.longest) { $0.append(key: key) }
            } else {
                writer.append(quoted: path.pointee.keys[depth].name)
                writer.append(UInt8(ascii: ":"))
            }
        }
    }

    private static func appendValue(_ change: Change, to writer: ByteWriter) -> Bool {
        switch change.after?.pointee {
        case .int(let number)?: writer.append(decimal: number)
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
