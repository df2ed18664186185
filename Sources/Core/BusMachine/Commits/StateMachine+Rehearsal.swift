import BusJSON
import BusLogic
import BusState

/// What the applied plan would change: for dry runs.
package struct RehearsedChanges {
    /// Merge patches by address, with commas between them; and whole states where a patch can't express it.
    package let merges = ByteWriter()
    package let states = ByteWriter()
    /// How many stores differ, and how many were looked at.
    package internal(set) var changed = 0
    package internal(set) var looked = 0
}

extension StateMachine {
    /// The changes that are applied and not committed, as long as they take no more than `room` bytes, as far as
    /// somebody sees the stores.
    package func rehearsedChanges(
        room: Int, seenBy grants: Grants?
    ) -> RehearsedChanges {
        var found = RehearsedChanges()
        let restricted = Stack<DeltaEntry>()
        for place in writeSet.indices where found.merges.count + found.states.count <= room {
            gatherEntries(at: place)
            found.looked += 1
            if entries.isEmpty { continue }
            let store = writeSet[place].store
            let state = stores.pointer(store).pointee.state
            var changes = entries.elements[...]
            var parts: Selection?
            switch grants.map({ visibility(of: store, to: $0) }) ?? .whole {
            case .nothing: continue
            case .whole: break
            case .parts(let selection):
                parts = selection
                restricted.clear()
                selection.restrict(changes, of: state, to: restricted)
                if restricted.isEmpty { continue }
                changes = restricted.elements[...]
            }
            found.changed += 1
            let mark = found.merges.count
            append(addressOf: store, to: found.merges)
            if !ChangeEncoder.appendMerge(changes, of: state, to: found.merges) {
                found.merges.truncate(to: mark)
                append(addressOf: store, to: found.states)
                found.states.append(jsonObject: parts?.project(state) ?? state)
            }
        }
        return found
    }

    private func append(addressOf store: Int32, to writer: ByteWriter) {
        if !writer.isEmpty { writer.append(UInt8(ascii: ",")) }
        writer.append(quoted: address(of: Int(store)))
        writer.append(UInt8(ascii: ":"))
    }
}
