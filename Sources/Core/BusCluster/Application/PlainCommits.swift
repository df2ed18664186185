import BusJSON
import BusMachine
import BusState

/// Commits without subscribers. What they come to is their line of the log, and what they change.
package final class PlainCommits: CommitSink {
    private let machine: StateMachine
    private let output = ByteWriter()

    package init(_ machine: StateMachine) { self.machine = machine }

    package func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        machine.beginCommit()
        output.append(decimal: machine.revision)
        for index in details?.dropped ?? [] { machine.skipWrite(to: index) }
        for place in machine.writeSet.indices { writeChange(at: place) }
        for (index, state) in details?.replaced ?? [] {
            _ = machine.commitReplacement(of: index, by: state)
        }
        for index in details?.created ?? [] { machine.commitCreation(of: index) }
        for index in details?.dropped ?? [] { machine.commitDrop(of: index) }
        machine.appendEntry(to: output, by: principal, actions: actions, key: key, details)
        output.append(decimal: machine.changed)
        output.append(UInt8(ascii: "\n"))
        machine.endCommit(dropping: details?.dropped ?? [])
    }

    private func writeChange(at place: Int) {
        let store = machine.writeSet[place].store
        let record = machine.stores.pointer(store)
        let mark = output.count
        switch machine.commitWrite(at: place) {
        case .none: return
        case .members:
            output.append(raw: machine.address(of: Int(store)))
            if machine.appendMemberChanges(of: record, to: output) { return }
        case .entries:
            output.append(raw: machine.address(of: Int(store)))
            if ChangeEncoder.appendMerge(
                machine.entries.elements[...], of: record.pointee.state, to: output)
            {
                return
            }
        }
        // A patch can't express it.
        output.truncate(to: mark)
        output.append(raw: machine.address(of: Int(store)))
        output.append(jsonObject: record.pointee.state)
    }

    package func note(_ session: Session) {
        machine.appendWillNote(of: session, to: output)
        output.append(UInt8(ascii: "\n"))
    }

    package func note(endOf session: SessionID) {
        StateMachine.appendEndNote(of: session, to: output)
        output.append(UInt8(ascii: "\n"))
    }

    package func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(output.bytes)
        output.clear()
    }
}
