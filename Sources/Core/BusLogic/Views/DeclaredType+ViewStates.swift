import BusJSON
import BusState

/// The states of a view: its values, which the bus works out, and what is computed from them as in every type.
extension DeclaredType {
    /// A state with these values, in the order of the rules.
    package func viewState(_ values: [JSON]) -> JSONObject {
        var state = plain
        for (value, found) in zip(view?.values ?? [], values) { state[value.name] = found }
        var budget = Budget(operations: .max, bytes: .max)
        return (try? computed.added(to: state, spending: &budget)) ?? state
    }

    /// Brings computed values up to date with writes to values that mean these bits.
    package func refreshComputed(_ draft: inout Draft, _ written: UInt64, in context: CommitContext) {
        guard computed.areRead(by: written) else { return }
        var written = written
        // Nothing can be refused any more, and each of them has a budget of its own.
        context.budget = Budget(operations: .max, bytes: .max)
        do throws(ComputedValues.CommitBudgetFailure) {
            try computed.refresh(&draft, written: &written, in: context)
        } catch {
            preconditionFailure("A budget without bounds can't be used up.")
        }
    }
}
