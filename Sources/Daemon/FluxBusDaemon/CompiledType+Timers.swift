import BusJSON
import BusLogic
import BusProtocol
import BusTypes
import Flux

/// The timers of a compiled type. Its rule is Swift code; what it sets is an action of the wire from then on, as if a type
/// file had said so: checked now, and decoded when it is due.
extension CompiledType {
    /// What a timer costs of the budget: it is put in its place among all others.
    private static var operationsPerTimer: Int { 20 }

    /// Changes the store's timers. Returns why that is not possible, as the end of a sentence; nil if it was done.
    func changeTimers(by action: State.Action, _ state: State, in context: CommitContext) -> String? {
        guard let timerChanges else { return nil }
        let changes: [Flux.TimerChange<State>]
        do {
            changes = try timerChanges(action, state)
        } catch {
            return CompiledTypeText.reason(error)
        }
        if changes.isEmpty { return nil }
        var coded: [BusLogic.TimerChange] = []
        for change in changes {
            context.budget.operations &-= Self.operationsPerTimer
            do throws(TimerRefusal) {
                coded.append(
                    BusLogic.TimerChange(name: change.timer, setting: try setting(change, in: context)))
            } catch {
                return "in the timer \(change.timer), \(error.reason)"
            }
        }
        do throws(TimerRefusal) {
            try context.timers?.change(coded)
            return nil
        } catch {
            return error.reason
        }
    }

    private func setting(
        _ change: Flux.TimerChange<State>, in context: CommitContext
    ) throws(TimerRefusal) -> BusLogic.TimerChange.Setting? {
        if let defect = change.defect { throw TimerRefusal(defect) }
        guard let setting = change.setting else { return nil }
        let (name, payload): (String, JSONObject)
        do throws(JSONCodingError) {
            (name, payload) = try actions.encoded(setting.action)
        } catch {
            throw TimerRefusal(error.reason)
        }
        guard let index = actions.index(of: name) else {
            preconditionFailure("An action that was encoded stands in the list of actions.")
        }
        do throws(PayloadFailure) {
            let now = Int((context.time * 1000).rounded())
            return .init(
                due: now + setting.delay.roundedUpToMilliseconds, action: name,
                payload: try actions.accept(payload, for: index))
        } catch {
            throw TimerRefusal(error.message)
        }
    }
}
