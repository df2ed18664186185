import BusJSON
import BusProtocol

/// An action's `timers:` on one store. They see the state as it was before the action, like all that an action says.
extension DeclaredType {
    /// Changes the store's timers. Returns why that is not possible, as the end of a sentence; nil if it was done.
    func change(
        _ rules: [TimerRule], _ evaluation: inout Evaluation, in context: CommitContext
    ) -> String? {
        var changes: [TimerChange] = []
        for rule in rules {
            do throws(TimerRefusal) {
                changes.append(
                    TimerChange(
                        name: try rule.name.resolved(&evaluation),
                        setting: try rule.setting.map { (setting) throws(TimerRefusal) in
                            try self.setting(setting, &evaluation, at: context.time)
                        }))
            } catch {
                return "in the timer \(rule.name.text), \(error.reason)"
            }
        }
        do throws(TimerRefusal) {
            try context.timers?.change(changes)
            return nil
        } catch {
            return error.reason
        }
    }

    /// What a rule sets at a time, in seconds since 1970.
    func setting(
        _ setting: TimerRule.Setting, _ evaluation: inout Evaluation, at time: Double
    ) throws(TimerRefusal) -> TimerChange.Setting {
        let now = Int((time * 1000).rounded())
        var (due, payload) = (now, JSONObject())
        var every: Int?
        do throws(EvaluationFailure) {
            try evaluation.spend(Self.operationsPerTimer)
            due = try self.due(setting.time, after: now, &evaluation) ?? -1
            every = try setting.every.map { (every) throws(EvaluationFailure) in
                try every.milliseconds(&evaluation) ?? 0
            }
            payload = try setting.payload.value(&evaluation).object ?? [:]
        } catch {
            throw TimerRefusal("\(error)")
        }
        guard due >= 0 else { throw TimerRefusal(setting.time.rule) }
        guard due - now <= DurationText.longest, every ?? 0 <= DurationText.longest else {
            throw TimerRefusal("the time lies more than ten years ahead")
        }
        guard every ?? .max >= TimerRule.shortestInterval else {
            throw TimerRefusal("`every` needs seconds or a text such as 5m, and at least 1s")
        }
        guard let index = actions.firstIndex(where: { UTF8Order.equal($0.name, setting.action) }) else {
            preconditionFailure("A timer's action was found when the definition was loaded.")
        }
        do throws(PayloadFailure) {
            payload = try accept(payload, for: index)
        } catch {
            throw TimerRefusal(error.message)
        }
        return .init(due: due, every: every, action: actions[index].name, payload: payload)
    }

    /// When a timer is due, in milliseconds since 1970; nil where an expression gives no time.
    private func due(
        _ time: TimerRule.Time, after now: Int, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Int? {
        switch time {
        case .after(let length, _): return try length.milliseconds(&evaluation).map { now + $0 }
        case .at(let expression):
            let value = try expression.value(&evaluation)
            return value.double == nil ? nil : DurationText.milliseconds(of: value)
        }
    }

    /// What a timer costs of the budget beside its expressions: it is put in its place among all others.
    private static let operationsPerTimer = 20
}
