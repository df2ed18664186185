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

    /// Whether writes may have to be changed to fit.
    var adjusts: Bool { schema.adjusts }

    /// A value as it is put at a path: with the defaults inside of it.
    func filled(_ value: JSON, _ kind: WriteKind, at path: StatePath) -> JSON {
        guard kind == .set || kind == .append, let schema = schema.schema(at: path.segments) else {
            return value
        }
        return kind == .set ? schema.filled(value) : schema.items?.filled(value) ?? value
    }

    /// What stands at a path after a merge, where that lacks members that have defaults; and how many elements an array has too
    /// many after an append to it, where it drops the oldest.
    func settle(_ kind: WriteKind, at path: StatePath, of draft: inout Draft) throws(WriteFailure) {
        guard kind == .append || kind == .merge, let schema = schema.schema(at: path.segments),
            schema.fillsIn || schema.dropsOldest, let value = draft.current.value(at: path.segments)
        else { return }
        if kind == .merge {
            let filled = schema.filled(value)
            if filled != value { try draft.set(path, to: filled) }
        } else if schema.dropsOldest, let most = schema.maxItems, case .array(let elements) = value {
            let excess = elements.count - most
            guard excess > 0 else { return }
            if excess == 1 { return try draft.unset(StatePath(path.segments + ["0"])) }
            try draft.set(path, to: .array(Array(elements.dropFirst(excess))))
        }
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
