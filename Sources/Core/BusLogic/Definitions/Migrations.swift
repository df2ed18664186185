import BusJSON
import BusProtocol
import BusState

/// How states of earlier versions of a declared type become states of its version: one step after the other.
struct Migrations: Sendable {
    /// From one version to the next: writes as in an action, whose expressions see the state before the step.
    final class Step: Sendable {
        let writes: DynamicWrites
        /// What it may spend on a store: as much as an action, whose plain writes cost nothing themselves.
        let budget: Budget

        init(_ parts: [DynamicWrites.Part]) {
            writes = DynamicWrites(parts)
            let plain = parts.count { if case .write(let step) = $0 { step.fixed != nil } else { false } }
            budget = Budget(operations: Budget.ofStore.operations + plain, bytes: Budget.ofStore.bytes)
        }
    }

    /// The first leads from version 1 to version 2; nil where a step is not known.
    let steps: [Step?]

    /// The version they lead to.
    var version: Int { steps.count + 1 }

    /// The state that one of an earlier version, without computed values, becomes. `budget` is what all steps together may spend.
    func apply(
        to old: JSONObject, from earlier: Int, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        var state = old
        for version in max(1, earlier)..<max(self.version, earlier, 1) {
            do throws(Failure) {
                try apply(steps[version - 1], to: &state, &budget)
            } catch {
                throw PayloadFailure(
                    "the step from version \(version) to \(version + 1) fails: \(error.reason).")
            }
        }
        return state
    }

    /// The end of a sentence.
    private struct Failure: Error {
        let reason: String
    }

    private func apply(
        _ known: Step?, to state: inout JSONObject, _ budget: inout Budget
    ) throws(Failure) {
        guard let step = known else { throw Failure(reason: "there is no such step") }
        let undoLog = UndoLog()
        try withUnsafeMutablePointer(to: &state) { (place) throws(Failure) in
            let planned = try Self.plan(step, on: place, &budget)
            var draft = Draft(place, size: 0, undoLog: undoLog)
            for write in planned {
                guard write.step.mayHold(write.value, at: write.path) else {
                    throw Failure(reason: "the value for \(write.path) is nested too deeply")
                }
                do throws(WriteFailure) {
                    try draft.write(write.step.kind, write.path, write.value)
                } catch {
                    throw Failure(reason: "in \(write.step.kind) \(write.path), \(error)")
                }
            }
        }
    }

    private static func plan(
        _ step: Step, on state: UnsafePointer<JSONObject>, _ budget: inout Budget
    ) throws(Failure) -> [DynamicWrites.Planned] {
        let allowance = Budget.smaller(step.budget, budget)
        var evaluation = Evaluation(budget: allowance)
        defer { budget = evaluation.rest(of: budget, after: allowance) }
        evaluation.state = state
        do throws(DynamicWrites.Failure) {
            return try step.writes.plan(&evaluation)
        } catch {
            throw Failure(reason: "in \(error.place), \(error.reason)")
        }
    }
}
