import BusJSON
import BusLogic
import BusProtocol

/// Applies plans whose steps depend on what the stores are like: on what access rules ask, and on what their client wants.
extension StateMachine {
    /// Applies the plan, each step to each store only after a look at it.
    func applyWithCare(_ facts: CommitContext.Place) throws(RequestError) {
        try compileBudget(plan.guardBytes, &facts.pointee.budget)
        var guards = plan.guards[...]
        for (number, action) in plan.actions.elements.enumerated() {
            try applyStoreSteps(before: number, facts)
            if facts.pointee.keepsPrior { context.forgetPrior() }
            for place in action.steps {
                let step = plan.steps[place]
                let wanted = guards.first?.step == place ? guards.removeFirst().condition : nil
                do throws(RequestError) {
                    if step.store >= 0 {
                        try apply(step, at: place, to: step.store, facts, where: wanted)
                    } else {
                        for store in step.type.members where store >= 0 {
                            try apply(step, at: place, to: store, facts, where: wanted)
                        }
                    }
                } catch {
                    throw error.with(indexOf: action)
                }
            }
        }
        try applyStoreSteps(before: .max, facts)
    }

    /// What access rules ask comes first: who may not dispatch learns nothing by a condition.
    private func apply(
        _ step: DispatchPlan.Step, at place: Int, to store: Int32,
        _ facts: CommitContext.Place, where wanted: JSON?
    ) throws(RequestError) {
        if !plan.conditions.isEmpty, !plan.conditions[place].isEmpty {
            try requireOne(of: plan.conditions[place], step, store, &facts.pointee.budget)
        }
        if let wanted {
            try require(wanted, of: store, seenBy: plan.guardian, &facts.pointee.budget)
        }
        try apply(stepAt: place, to: store, facts)
    }

    /// Throws unless all that the plan's steps depend on holds for the stores as they are; nothing is applied.
    package func requireCare(by principal: Principal) throws(RequestError) {
        if !plan.needsCare { return }
        applying = .passUnretained(principal)
        var budget = commitBudget
        let before = budget.operations
        defer { plan.operationsOfConditions += before - budget.operations }
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
