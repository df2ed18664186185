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
                    TimerChange(name: rule.name, setting: try setting(rule, &evaluation, in: context)))
            } catch {
                return "in the timer \(rule.name), \(error.reason)"
            }
        }
        do throws(TimerRefusal) {
            try context.timers?.change(changes)
            return nil
        } catch {
            return error.reason
        }
    }

    private func setting(
        _ rule: TimerRule, _ evaluation: inout Evaluation, in context: CommitContext
    ) throws(TimerRefusal) -> TimerChange.Setting? {
        let now = Int((context.time * 1000).rounded())
        var (due, payload) = (now, JSONObject())
        guard let setting = rule.setting else { return nil }
        do throws(EvaluationFailure) {
            try evaluation.spend(Self.operationsPerTimer)
            due = try self.due(setting.time, after: now, &evaluation) ?? -1
            payload = try setting.payload.value(&evaluation).object ?? [:]
        } catch {
            throw TimerRefusal("\(error)")
        }
        guard due >= 0 else {
            throw TimerRefusal(
                "`in` needs seconds or a text such as 5m, and `at` seconds since 1970, none of them negative")
        }
        guard due - now <= DurationText.longest else {
            throw TimerRefusal("the time lies more than ten years ahead")
        }
        guard let index = actions.firstIndex(where: { UTF8Order.equal($0.name, setting.action) }) else {
            preconditionFailure("A timer's action was found when the definition was loaded.")
        }
        do throws(PayloadFailure) {
            payload = try accept(payload, for: index)
        } catch {
            throw TimerRefusal(error.message)
        }
        return .init(due: due, action: actions[index].name, payload: payload)
    }

    /// When a timer is due, in milliseconds since 1970; nil where an expression gives no time.
    private func due(
        _ time: TimerRule.Time, after now: Int, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Int? {
        switch time {
        case .delay(let delay): return now + delay
        case .delayed(let expression):
            guard let delay = DurationText.milliseconds(of: try expression.value(&evaluation)) else {
                return nil
            }
            return now + delay
        case .at(let expression):
            let value = try expression.value(&evaluation)
            return value.double == nil ? nil : DurationText.milliseconds(of: value)
        }
    }

    /// What a timer costs of the budget beside its expressions: it is put in its place among all others.
    private static let operationsPerTimer = 20
}
