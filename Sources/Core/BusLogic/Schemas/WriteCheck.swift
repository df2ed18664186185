import BusJSON
import BusState

/// Holds a write against what states of its type have to be; only writes that could break it have one.
final class WriteCheck: Sendable {
    private let schema: StateSchema
    /// Whether a later write of the action may mend what this one breaks.
    let mayBeMended: Bool

    init(_ schema: StateSchema, mayBeMended: Bool) {
        self.schema = schema
        self.mayBeMended = mayBeMended
    }

    /// What the write broke; `looked` counts how many values were looked at for that.
    func problem(
        after step: WriteStep, at path: StatePath, of value: JSON, in draft: borrowing Draft,
        _ looked: inout Int
    ) -> SchemaProblem? {
        schema.problem(after: step.kind, at: path.segments, of: value, in: draft.current, &looked)
    }
}
