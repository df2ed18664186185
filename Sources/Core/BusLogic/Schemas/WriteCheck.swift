import BusJSON
import BusProtocol
import BusState

/// Holds a write against what states of its type have to be; only writes that could break it have one.
final class WriteCheck: Sendable {
    private let schema: StateSchema
    /// Whether a later write of the action may mend what this one breaks.
    let mayBeMended: Bool
    /// The members that the definition names, where the payload says to which of them the write goes.
    private let named: JSONObject?

    init(_ schema: StateSchema, mayBeMended: Bool, named: JSONObject?) {
        self.schema = schema
        self.mayBeMended = mayBeMended
        self.named = named
    }

    /// What is wrong with any write to a member that the definition does not name; taking it away is right.
    func problem(with kind: WriteKind, of member: String) -> SchemaProblem? {
        guard let named, kind != .unset, named.index(of: member) == nil else { return nil }
        let hint = suggestion(for: member, among: named.keys)
        return SchemaProblem("is in neither initial nor state; \(hint)", at: [member])
    }

    /// What the write broke; `looked` counts how many values were looked at for that.
    func problem(
        after step: WriteStep, at path: StatePath, of value: JSON, in draft: borrowing Draft,
        _ looked: inout Int
    ) -> SchemaProblem? {
        schema.problem(after: step.kind, at: path.segments, of: value, in: draft.current, &looked)
    }
}
