import BusJSON
import BusLogic
import BusState

/// How a reply tells what a dispatch changes.
package enum ToldForm: String, CaseIterable, Sendable {
    /// As merge patches, and whole states where a patch can't express it.
    case changes
    /// As whole states.
    case states
}

/// What the applied plan changes, as far as somebody sees it.
package struct ToldChanges {
    package let form: ToldForm
    /// Merge patches by address, with commas between them; whole states; and addresses of stores that are no more.
    package let merges = ByteWriter()
    package let states = ByteWriter()
    package let dropped = ByteWriter()
    /// How many stores differ, and how many were looked at.
    package internal(set) var changed = 0
    package internal(set) var looked = 0

    package var size: Int { merges.count + states.count + dropped.count }
}

extension StateMachine {
    /// The changes that are applied and not committed, until they take more than `room` bytes, as far as somebody sees the
    /// stores.
    package func appliedChanges(_ form: ToldForm, room: Int, seenBy grants: Grants?) -> ToldChanges {
        var told = ToldChanges(form: form)
        let batch = appliedStores()
        let apart = Set(batch?.steps.lazy.map(\.store) ?? [])
        let restricted = Stack<DeltaEntry>()
        for place in writeSet.indices where told.size <= room {
            let store = writeSet[place].store
            if apart.contains(store) { continue }
            gatherEntries(at: place)
            told.looked += 1
            if entries.isEmpty { continue }
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
            told.changed += 1
            if form == .changes {
                let mark = told.merges.count
                append(addressOf: store, to: told.merges)
                if ChangeEncoder.appendMerge(changes, of: state, to: told.merges) { continue }
                told.merges.truncate(to: mark)
            }
            append(addressOf: store, to: told.states)
            told.states.append(jsonObject: parts?.project(state) ?? state)
        }
        if let batch { append(batch, to: &told, room: room, seenBy: grants) }
        return told
    }

    /// The stores that a batch has created and dropped.
    private func append(_ batch: BatchStores, to told: inout ToldChanges, room: Int, seenBy grants: Grants?) {
        for store in batch.created where told.size <= room {
            let state = stores.pointer(store).pointee.state
            told.looked += 1
            let shown: JSONObject
            switch grants.map({ visibility(of: store, to: $0) }) ?? .whole {
            case .nothing: continue
            case .whole: shown = state
            case .parts(let selection): shown = selection.project(state)
            }
            told.changed += 1
            append(addressOf: store, to: told.states)
            told.states.append(jsonObject: shown)
        }
        for store in batch.dropped where told.size <= room {
            if let grants, case .nothing = visibility(of: store, to: grants) { continue }
            told.changed += 1
            if !told.dropped.isEmpty { told.dropped.append(UInt8(ascii: ",")) }
            told.dropped.append(quoted: address(of: Int(store)))
        }
    }

    private func append(addressOf store: Int32, to writer: ByteWriter) {
        if !writer.isEmpty { writer.append(UInt8(ascii: ",")) }
        writer.append(quoted: address(of: Int(store)))
        writer.append(UInt8(ascii: ":"))
    }
}
