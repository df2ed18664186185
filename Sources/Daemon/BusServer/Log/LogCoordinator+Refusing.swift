import BusEngine
import BusMachine

/// What is asked of the log and is not in it, while it can't be written.
extension LogCoordinator {
    func refuse(_ question: LogQuery) {
        let reason = engine.unavailableReason ?? ""
        engine.answer(question, with: .refused(code: "unavailable", message: reason, details: [:]))
    }
}
