import BusJSON
import BusLogic
import BusProtocol

/// Batches that created and dropped stores, as the log has them.
extension StateMachine {
    /// Applies the `steps` of an entry with its actions, to be committed; `state` is what a store of a type begins with, by
    /// what the entry has created it with.
    package func apply(
        _ steps: [JSON], _ actions: [JSON], creating states: JSONObject, by principal: Principal,
        _ state: (TypeEntry, JSONObject) throws(RequestError) -> JSONObject
    ) throws(RequestError) -> BatchStores {
        plan.clear()
        do throws(RequestError) {
            try plan(steps, actions, creating: states, by: principal, state)
            _ = try apply(by: principal)
        } catch {
            releaseStores()
            throw error
        }
        guard let batch = appliedStores() else { throw RequestError(.internal, "it has no steps") }
        return batch
    }

    private func plan(
        _ steps: [JSON], _ actions: [JSON], creating states: JSONObject, by principal: Principal,
        _ state: (TypeEntry, JSONObject) throws(RequestError) -> JSONObject
    ) throws(RequestError) {
        defer { endPlanning() }
        var actions = actions[...]
        for step in steps {
            if let count = step.int {
                guard 1...max(1, actions.count) ~= count, !actions.isEmpty else {
                    throw RequestError(.internal, "it counts actions that it has not")
                }
                for action in actions.prefix(count) {
                    try planElement(
                        try BatchElement(action.asRequested, place: "actions", mayChoose: true))
                }
                actions = actions.dropFirst(count)
                continue
            }
            let address = step["store"]?.string ?? ""
            if step["op"] != "create" {
                try planDrop(of: try requireStore(address).1, where: Precondition(), seenBy: nil, 0)
                continue
            }
            guard let members = (step["state"] ?? states[address])?.object else {
                throw RequestError(.internal, "a store has no state")
            }
            try address.utf8Span.span.withUnsafeBytes { (bytes) throws(RequestError) in
                let parts = try requireAddress(bytes)
                let type = try requireType(parts.type)
                try requireFree(address, parts, type)
                planCreation(
                    parts, of: type, try state(type, members),
                    lease: step["ttl"].flatMap { DurationText.milliseconds(of: $0) },
                    isEphemeral: step["ephemeral"] == true, by: principal, 0)
            }
        }
    }
}
