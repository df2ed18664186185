import BusJSON

/// Assembles the parts of a split event: nothing of it is shown before its last part is there.
struct ChangeAssembler {
    private let format: BusMirror.Format
    private var whole: JSONObject?
    private var size = 0

    init(format: BusMirror.Format) { self.format = format }

    /// Discards the parts of an unfinished event.
    mutating func clear() {
        whole = nil
        size = 0
    }

    /// Adds an event or a part of one. Returns the whole one and the bytes of all its parts; nil when more follows.
    mutating func add(_ part: JSONObject, size partSize: Int) throws(BusError) -> (
        event: JSONObject, size: Int
    )? {
        // Only the first part of a change has `from`. In the middle of one it means that the bus has restarted the change.
        if part["from"] != nil { clear() }
        let hasMore = part["more"]?.bool ?? false
        guard var event = whole else {
            guard hasMore else { return (part, partSize) }
            whole = part
            whole?["more"] = nil
            size = partSize
            return nil
        }
        whole = nil
        try merge(part, into: &event)
        size += partSize
        guard hasMore else { return (event, size) }
        whole = event
        return nil
    }

    /// An address is in at most one of `states`, `changes` and `dropped`; a later part takes precedence.
    private func merge(_ part: JSONObject, into event: inout JSONObject) throws(BusError) {
        var states = event["states"]?.object ?? [:]
        var changes = event["changes"]?.object ?? [:]
        var dropped = event["dropped"]?.array ?? []
        for member in part["states"]?.object ?? [:] {
            states[member.key] = member.value
            changes[member.key] = nil
            dropped.removeAll { $0 == .string(member.key) }
        }
        for member in part["changes"]?.object ?? [:] {
            if let state = states[member.key] {
                states[member.key] = try patched(state, with: member.value)
            } else if let earlier = changes[member.key] {
                changes[member.key] = try joined(earlier, member.value)
            } else {
                changes[member.key] = member.value
            }
        }
        for address in part["dropped"]?.array ?? [] {
            guard let name = address.string else { continue }
            states[name] = nil
            changes[name] = nil
            if !dropped.contains(address) { dropped.append(address) }
        }
        for member in part where !["states", "changes", "dropped", "more", "from"].contains(member.key) {
            event[member.key] = member.value
        }
        event["states"] = states.isEmpty && event["states"] == nil ? nil : .object(states)
        event["changes"] = changes.isEmpty ? nil : .object(changes)
        event["dropped"] = dropped.isEmpty ? nil : .array(dropped)
    }

    private func patched(_ state: JSON, with change: JSON) throws(BusError) -> JSON {
        switch format {
        case .state: return change
        case .merge: return MergePatch.apply(change, to: state)
        case .patch:
            do { return try JSONPatch.apply(change, to: state) } catch {
                throw BusError(.gap, "A part of a change does not fit the part before it (\(error)).")
            }
        }
    }

    /// One change with the effect of two in sequence. For merge patches there is none in general; a
    /// bus sends whole states instead.
    private func joined(_ first: JSON, _ second: JSON) throws(BusError) -> JSON {
        switch (format, first, second) {
        case (.patch, .array(let first), .array(let second)): return .array(first + second)
        case (.state, _, _): return second
        default: throw BusError(.gap, "A store came twice in the parts of one change.")
        }
    }
}
