import BusJSON
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
    /// The changes that are applied and not committed, as long as they take no more than `room` bytes, of the
    /// stores that are shown.
    package func rehearsedChanges(
        room: Int, where isShown: (Int32) -> Bool
    ) -> RehearsedChanges {
        var found = RehearsedChanges()
        for place in writeSet.indices where found.merges.count + found.states.count <= room {
            gatherEntries(at: place)
            found.looked += 1
            if entries.isEmpty || !isShown(writeSet[place].store) { continue }
            found.changed += 1
            let store = writeSet[place].store
            let state = stores.pointer(store).pointee.state
            let mark = found.merges.count
            append(addressOf: store, to: found.merges)
            if !ChangeEncoder.appendMerge(entries.elements[...], of: state, to: found.merges) {
                found.merges.truncate(to: mark)
                append(addressOf: store, to: found.states)
                found.states.append(jsonObject: state)
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
