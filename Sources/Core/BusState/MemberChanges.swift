import BusJSON

/// What a commit did to a state, if it wrote only to members of the state, and to each of them once: as it mostly
/// does, computed values among them.
///
/// The undo log and the state are read in place, until one of them changes: copying paths and values would cost as much
/// as encoding them. Its storage is reused by all commits.
package final class MemberChanges {
    /// One write, and the member's index in the state; -1: it was removed.
    private struct Change {
        let record: UnsafePointer<UndoLog.Record>
        let index: Int
    }

    /// The most writes that are considered: they are put in order by moving each to its place,
    /// and most are in order already.
    private static let most = 16

    /// In the order of members, which is that of their keys.
    private let changes = Stack<Change>()

    package init() {}

    /// Whether no write had an effect: all values are what they were before.
    @inline(__always)
    package var isEmpty: Bool { changes.isEmpty }

    /// Collects all writes to a state. False where they can't be expressed so: one went deeper, two went to the same
    /// member, or a member was removed, whose place is unknown, beside others.
    package func gather(
        _ records: UnsafeBufferPointer<UndoLog.Record>, in state: UnsafePointer<JSONObject>
    ) -> Bool {
        changes.clear()
        if records.count > Self.most { return false }
        for place in records.indices {
            let record = records.baseAddress! + place
            guard record.pointee.path.count == 1 else { return false }
            let index = state.pointee.index(of: record.pointee.path[0], hint: record.pointee.hint)
            let change = Change(record: record, index: index ?? -1)
            if records.count == 1, cameToNothing(change, in: state) { return true }
            guard insert(change) else { return false }
        }
        if records.count > 1 { leaveOutWhatCameToNothing(in: state) }
        return true
    }

    @inline(__always)
    private func insert(_ change: Change) -> Bool {
        var place = changes.count
        changes.append(change)
        while place > 0 {
            let before = changes[place - 1]
            if change.index < 0 || before.index < 0 || before.index == change.index { return false }
            if before.index < change.index { break }
            changes[place] = before
            place -= 1
            changes[place] = change
        }
        return true
    }

    private func leaveOutWhatCameToNothing(in state: UnsafePointer<JSONObject>) {
        var kept = 0
        for place in changes.indices where !cameToNothing(changes[place], in: state) {
            if kept < place { changes[kept] = changes[place] }
            kept += 1
        }
        changes.cut(to: kept)
    }

    @inline(__always)
    private func cameToNothing(_ change: Change, in state: UnsafePointer<JSONObject>) -> Bool {
        if change.index < 0 { return false }
        switch change.record.pointee.before {
        case .value(.int(let before)):
            if case .int(let after) = state.pointee.members[change.index].value { return after == before }
            return false
        case .value(let before): return state.pointee.members[change.index].value == before
        case .absent, .elements: return false
        }
    }

    /// Writes a merge patch. False, with nothing written, when a merge patch can't express it exactly.
    package func appendMerge(of state: UnsafePointer<JSONObject>, to writer: ByteWriter) -> Bool {
        if changes.count == 1, changes[0].index >= 0,
            case .int(let number) = state.pointee.members[changes[0].index].value
        {
            writer.append(onlyMember: changes[0].record.pointee.path[0], number)
            return true
        }
        let mark = writer.count
        writer.append(UInt8(ascii: "{"))
        for place in changes.indices {
            if place > 0 { writer.append(UInt8(ascii: ",")) }
            writer.append(quoted: changes[place].record.pointee.path[0])
            writer.append(UInt8(ascii: ":"))
            guard appendValue(changes[place], of: state, to: writer) else {
                writer.truncate(to: mark)
                return false
            }
        }
        writer.append(UInt8(ascii: "}"))
        return true
    }

    private func appendValue(
        _ change: Change, of state: UnsafePointer<JSONObject>, to writer: ByteWriter
    ) -> Bool {
        let after = change.index < 0 ? nil : state.pointee.members[change.index].value
        if case .value(let before) = change.record.pointee.before {
            return ChangeEncoder.appendMergeValue(from: before, to: after, into: writer)
        }
        return ChangeEncoder.appendMergeValue(from: nil, to: after, into: writer)
    }
}
