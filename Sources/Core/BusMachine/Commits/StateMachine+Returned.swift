import BusJSON
import BusLogic
import BusProtocol

/// What actions return: the values of `returns`, on the states after them. Replies have it, and so have the log, causes and
/// events, each action with its own.
extension StateMachine {
    /// What the plan that was applied returns, as members of a reply: `result` where it is one action on one store, else
    /// `results` by address. Of several actions on one store the last one counts. What an action returns may reveal any part
    /// of a state, so only clients that are shown the whole state get it. `isPart`: the plan lacks some actions of its dispatch.
    package func returned(seenBy grants: Grants? = nil, isPart: Bool = false) -> JSONObject? {
        let seen = plan.returned.filter { returned in
            guard let grants, !grants.readsEverything else { return true }
            let parts = returned.address.split(separator: "/", maxSplits: 1).map(String.init)
            return grants.showsWhole(parts[1], ofType: parts[0])
        }
        guard let first = seen.first else { return nil }
        if !isPart, plan.steps.count == 1, plan.steps[0].store >= 0 { return ["result": first.value] }
        let members = seen.map {
            JSONObject.Member(key: $0.address, value: $0.value)
        }
        let results =
            JSONObject(distinct: members)
            ?? members.reduce(into: JSONObject()) { $0[$1.key] = $1.value }
        return ["results": .object(results)]
    }

    /// Writes what one action of the plan returns, behind a comma.
    @inline(never)
    func appendReturned(of action: DispatchPlan.Action, to writer: ByteWriter) {
        // They stand in the order of their steps.
        let all = plan.returned
        var (first, end) = (0, all.count)
        while first < end {
            let middle = (first + end) / 2
            if all[middle].step < action.steps.lowerBound { first = middle + 1 } else { end = middle }
        }
        let own = all[first...].prefix { $0.step < action.steps.upperBound }
        guard let only = own.first else { return }
        if plan.steps[only.step].store >= 0 { return writer.append(",\"result\":", json: only.value) }
        for (place, returned) in own.enumerated() {
            writer.append(place == 0 ? ",\"results\":{" : ",")
            writer.append(quoted: returned.address)
            writer.append(":", json: returned.value)
        }
        writer.append("}")
    }
}
