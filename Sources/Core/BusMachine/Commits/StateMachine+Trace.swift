import BusJSON
import BusState

/// What commits come to as bytes: the same wherever the same entries were applied to the same state, so that two who
/// applied them can compare what they have made of them.
extension StateMachine {
    /// Writes how the commit being made changes the store at a place of the write set, while it is observed.
    package func trace(_ change: StoreChange, at place: Int, to trace: ByteWriter) {
        let store = writeSet[place].store
        let record = stores.pointer(store)
        let mark = trace.count
        trace.append(raw: address(of: Int(store)))
        switch change {
        case .none: return trace.truncate(to: mark)
        case .members: if appendMemberChanges(to: trace) { return }
        case .entries:
            if ChangeEncoder.appendMerge(entries.elements[...], of: record.pointee.state, to: trace) {
                return
            }
        }
        // A patch can't express it.
        trace.truncate(to: mark)
        trace.append(raw: address(of: Int(store)))
        trace.append(jsonObject: record.pointee.state)
    }

    /// Writes the entry of the commit being made, before it ends.
    package func traceCommit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?,
        to trace: ByteWriter
    ) {
        trace.append(decimal: revision)
        appendEntry(to: trace, by: principal, actions: actions, key: key, details)
        trace.append(decimal: changed)
        trace.append(UInt8(ascii: "\n"))
    }

    /// Writes the will of a session.
    package func traceWill(of session: Session, to trace: ByteWriter) {
        appendWillNote(of: session, to: trace)
        trace.append(UInt8(ascii: "\n"))
    }

    /// Writes that a session has ended without a commit.
    package static func traceEnd(of session: SessionID, to trace: ByteWriter) {
        appendEndNote(of: session, to: trace)
        trace.append(UInt8(ascii: "\n"))
    }
}
