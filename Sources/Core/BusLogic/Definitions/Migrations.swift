import BusJSON
import BusProtocol
import BusState

/// How states of earlier versions of a declared type become states of its version: one step after the other.
struct Migrations: Sendable {
    /// From one version to the next: writes as in an action, whose expressions see the state before the step.
    final class Step: Sendable {
        let writes: [WriteStep]

        init(_ writes: [WriteStep]) { self.writes = writes }
    }

    /// The first leads from version 1 to version 2; nil where a step is not known.
    let steps: [Step?]

    /// The version they lead to.
    var version: Int { steps.count + 1 }

    /// What one step may spend on a store: as much as an action.
    private static let budget = Budget(operations: 100_000, bytes: 4 << 20)

    /// The state that one of an earlier version, without computed values, becomes.
    func apply(to old: JSONObject, from earlier: Int) throws(PayloadFailure) -> JSONObject {
        var state = old
        for version in max(1, earlier)..<max(self.version, earlier, 1) {
            do throws(Failure) {
                try apply(steps[version - 1], to: &state)
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

    private func apply(_ known: Step?, to state: inout JSONObject) throws(Failure) {
        guard let step = known else { throw Failure(reason: "there is no such step") }
        let undoLog = UndoLog()
        try withUnsafeMutablePointer(to: &state) { (place) throws(Failure) in
            let values = try Self.values(of: step, on: place)
            var draft = Draft(place, size: 0, undoLog: undoLog)
            for (write, value) in zip(step.writes, values) {
                guard let path = write.fixed else { continue }
                guard write.mayHold(value, at: path) else {
                    throw Failure(reason: "the value for \(path) is nested too deeply")
                }
                do throws(WriteFailure) {
                    try draft.write(write.kind, path, value)
                } catch {
                    throw Failure(reason: "in \(write.kind) \(path), \(error)")
                }
            }
        }
    }

    private static func values(
        of step: Step, on state: UnsafePointer<JSONObject>
    ) throws(Failure) -> [JSON] {
        var values: [JSON] = []
        var evaluation = Evaluation(budget: Self.budget)
        evaluation.state = state
        for write in step.writes {
            do throws(EvaluationFailure) {
                values.append(try write.value.value(&evaluation))
            } catch {
                throw Failure(reason: "in \(write.kind) \(write.path.text), \(error)")
            }
        }
        return values
    }
}
