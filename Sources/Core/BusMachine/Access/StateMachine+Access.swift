import BusJSON
import BusLogic
import BusProtocol

/// Access rules as part of the history, and conditions that depend on states, which only the machine can look at. Who
/// may do what is decided before an entry is made: entries of the log are facts and are not judged again.
extension StateMachine {
    /// Puts the rules in force with which a bus begins, or goes on without a log.
    package func beginAccess(_ rules: AccessRules?) { putInForce(rules, since: revision) }

    /// Puts rules in force that a commit brings, or that hold since one.
    func putInForce(_ rules: AccessRules?, since revision: Int) {
        (access, accessSince) = (rules, revision)
        followParts(since: revision)
    }

    /// Puts rules of the log in force.
    func restoreAccess(_ definition: JSON, since revision: Int?) throws(RequestError) {
        do {
            let rules = definition.isNull ? nil : try AccessRules(definition: definition)
            putInForce(rules, since: revision ?? self.revision)
        } catch {
            throw RequestError(.internal, "it has access rules that this version can't read (\(error))")
        }
    }

    /// Puts the conditions of the rules beside the planned steps. Throws where a step is not allowed at all, or reaches
    /// more stores than the rules allow.
    package func addConditions(_ grants: Grants) throws(RequestError) {
        var conditions: [[Expression]] = []
        for step in plan.steps.elements {
            let type = step.type.name
            let action = step.type.actionName(step.action)
            let name = step.store >= 0 ? stores.pointer(step.store).pointee.name : nil
            let rules = grants.dispatching(action, to: name, ofType: type)
            let target = name.map { "\(type)/\($0)" } ?? type
            guard !rules.isEmpty else { throw Self.forbidden(action, target) }
            let reach = name == nil ? step.type.count : 1
            let sufficient = rules.filter { $0.maxStores >= reach }
            guard !sufficient.isEmpty else {
                let most = rules.map(\.maxStores).max() ?? 0
                throw RequestError(
                    .limit,
                    "The access rules let you dispatch \(action) to at most \(most) stores at once; dispatch to fewer at a time."
                ).with("action", .string(action))
            }
            conditions.append(
                sufficient.contains { $0.condition == nil } ? [] : sufficient.compactMap(\.condition))
        }
        if conditions.contains(where: { !$0.isEmpty }) { plan.impose(conditions) }
    }

    func requireOne(
        of conditions: [Expression], _ step: DispatchPlan.Step, _ store: Int32,
        _ budget: inout Budget
    ) throws(RequestError) {
        let address = address(of: Int(store))
        let data = dataOfRule(
            state: stores.pointer(store).pointee.state, payload: step.payload, store: address)
        if holds(conditions, on: data, &budget) { return }
        let action = step.type.actionName(step.action)
        let refusal = Self.forbidden(action, address)
        // Which store of a type it was is told to who may read it.
        throw step.store >= 0
            ? refusal : refusal.withheld(by: Self.forbidden(action, step.type.name))
    }

    /// Throws unless all that the plan's steps depend on holds for the stores as they are; nothing is applied.
    package func requireCare(by principal: Principal) throws(RequestError) {
        if !plan.needsCare { return }
        applying = .passUnretained(principal)
        try counting(commitBudget) { (budget) throws(RequestError) in
            if !plan.conditions.isEmpty {
                for place in plan.steps.indices where !plan.conditions[place].isEmpty {
                    let step = plan.steps[place]
                    for store in step.store >= 0 ? [step.store] : step.type.members where store >= 0 {
                        try requireOne(of: plan.conditions[place], step, store, &budget)
                    }
                }
            }
            try compileBudget(plan.guardBytes, &budget)
            for wanted in plan.guards {
                try require(
                    wanted.condition, of: plan.steps[wanted.step].store, seenBy: plan.guardian, &budget)
            }
        }
    }

    /// Whether one of the conditions holds; one that can't be evaluated does not.
    private func holds(_ conditions: [Expression], on data: JSON, _ budget: inout Budget) -> Bool {
        conditions.contains { condition in
            budget.spendAsOneStore { condition.holds(on: data, spending: &$0) }
        }
    }

    /// Whether one of the conditions holds for a store that is to be created.
    package func holds(
        _ conditions: [Expression], forCreating store: String, _ state: JSONObject, by principal: Principal
    ) -> Bool {
        applying = .passUnretained(principal)
        let bounds = commitBudget
        var budget = Budget.ofStore
        (budget.reading, budget.hasPrices) = (bounds.reading, bounds.hasPrices)
        return counting(budget) {
            holds(conditions, on: dataOfRule(state: state, payload: [:], store: store), &$0)
        }
    }

    private func dataOfRule(state: JSONObject, payload: JSONObject, store: String) -> JSON {
        let who = who
        let seconds = Double(time) / 1000
        var meta: JSONObject = [
            "time": .double(seconds), "revision": .int(revision + 1), "uid": who["uid"] ?? .null, "who": who,
        ]
        if rules >= BusLimits.rulesOfConditions {
            for clock in ClockTime.allCases { meta[clock.rawValue] = .int(clock.value(at: seconds)) }
        }
        return [
            "state": .object(state), "payload": .object(payload), "store": .string(store), "who": who,
            "meta": .object(meta),
        ]
    }

    /// The refusal of an action by the rules; it says nothing of what there is.
    package static func forbidden(_ action: String, _ target: String) -> RequestError {
        RequestError(
            .forbidden,
            "The access rules do not let you dispatch \(action.shortened(to: 80)) to \(target.shortened(to: 200)); ask an operator of the bus for a role that may."
        ).with("store", .string(target)).with("action", .string(action))
    }
}
