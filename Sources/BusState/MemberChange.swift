import BusJSON

/// The only write of a commit to a state, if it went to one of the state's members, as it mostly does.
///
/// Its record and the state are looked at where they stand, until the journal or the state changes: copying them would
/// cost as much as telling of them.
package struct MemberChange {
    private let record: UnsafePointer<Journal.Record>
    /// Where the member stands in the state; -1: it went.
    private let index: Int

    /// Nil for a write that went deeper.
    @inline(__always)
    package init?(_ record: UnsafePointer<Journal.Record>, in state: UnsafePointer<JSONObject>) {
        guard record.pointee.path.count == 1 else { return nil }
        self.record = record
        index = state.pointee.index(of: record.pointee.path[0], hint: record.pointee.hint) ?? -1
    }

    /// Whether the write came to nothing: what stands there now is what stood there before.
    package func isNone(in state: UnsafePointer<JSONObject>) -> Bool {
        guard index >= 0, case .value(let before) = record.pointee.before else { return false }
        if case .int(let old) = before, case .int(let new) = state.pointee.members[index].value {
            return old == new
        }
        return state.pointee.members[index].value == before
    }

    /// Writes a merge patch. False, with nothing written, when a merge patch can't say it exactly.
    package func appendMerge(of state: UnsafePointer<JSONObject>, to writer: ByteWriter) -> Bool {
        if index >= 0, case .int(let number) = state.pointee.members[index].value {
            writer.append(onlyMember: record.pointee.path[0], number)
            return true
        }
        let mark = writer.count
        writer.append(UInt8(ascii: "{"))
        writer.append(quoted: record.pointee.path[0])
        writer.append(UInt8(ascii: ":"))
        guard appendValue(of: state, to: writer) else {
            writer.truncate(to: mark)
            return false
        }
        writer.append(UInt8(ascii: "}"))
        return true
    }

    private func appendValue(of state: UnsafePointer<JSONObject>, to writer: ByteWriter) -> Bool {
        let after = index < 0 ? nil : state.pointee.members[index].value
        if case .value(let before) = record.pointee.before {
            return ChangeEncoder.appendMergeValue(from: before, to: after, into: writer)
        }
        return ChangeEncoder.appendMergeValue(from: nil, to: after, into: writer)
    }
}
