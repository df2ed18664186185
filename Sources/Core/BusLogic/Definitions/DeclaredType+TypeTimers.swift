import BusJSON
import BusProtocol

/// The timers that a type has of itself. They see a state and nothing else, so that whatever brings about a state sets them.
extension DeclaredType {
    package var ownTimers: [String] { typeTimers.map(\.name) }

    package func holding(
        on state: JSONObject, spending budget: inout Budget
    ) throws(TimerRefusal) -> UInt64 {
        var held: UInt64 = 0
        for (index, timer) in typeTimers.enumerated() {
            let allowance = Budget.smaller(.ofComputed, budget)
            let (isHeld, evaluation) = Evaluation.run(on: state, allowance) {
                (evaluation) throws(EvaluationFailure) in try timer.condition.truth(&evaluation)
            }
            budget = evaluation.rest(of: budget, after: allowance)
            switch isHeld {
            case .success(true): held |= 1 << UInt64(index)
            // One that fails does not hold, but it has to have had its budget.
            case .failure where evaluation.overdrewLess(than: .ofComputed, allowance):
                throw TimerRefusal("the commit's budget is used up at the timer \(timer.name)")
            default: break
            }
        }
        return held
    }

    package func setting(
        ofOwn index: Int, on state: JSONObject, at time: Int, spending budget: inout Budget
    ) throws(TimerRefusal) -> TimerChange.Setting {
        let timer = typeTimers[index]
        let allowance = Budget.smaller(.ofStore, budget)
        let (setting, evaluation) = Evaluation.run(on: state, allowance) {
            (evaluation) throws(TimerRefusal) in
            try self.setting(timer.setting, &evaluation, at: Double(time) / 1000)
        }
        budget = evaluation.rest(of: budget, after: allowance)
        do throws(TimerRefusal) {
            return try setting.get()
        } catch {
            throw TimerRefusal("in the timer \(timer.name), \(error.reason)")
        }
    }
}
