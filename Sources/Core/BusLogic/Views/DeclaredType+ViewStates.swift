import BusJSON
import BusState

/// The states of a view: values that the bus works out, and computed values as in every type.
extension DeclaredType {
    /// The state with these values, given in the order of the view's rules.
    package func viewState(_ values: [JSON], spending budget: inout Budget) -> JSONObject {
        var state = plain
        for (value, found) in zip(view?.values ?? [], values) { state[value.name] = found }
        return (try? computed.added(to: state, spending: &budget)) ?? state
    }

    /// Brings computed values up to date. `written` holds the bits of the values that were written. `budget` has no
    /// bounds: nothing can be refused any more, and each computed value has its own.
    package func refreshComputed(
        _ draft: inout Draft, _ written: UInt64, in context: CommitContext, spending budget: inout Budget
    ) {
        guard computed.areRead(by: written) else { return }
        var written = written
        swap(&budget, &context.budget)
        defer { swap(&budget, &context.budget) }
        do throws(ComputedValues.CommitBudgetFailure) {
            try computed.refresh(&draft, written: &written, in: context)
        } catch {
            preconditionFailure("A budget without bounds can't be used up.")
        }
    }
}
