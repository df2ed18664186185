import BusJSON
import BusState

/// One write of an action. A class, so that going through an action's writes copies nothing.
final class WriteStep: Sendable {
    /// The kinds of writes, in the order they run.
    enum Kind: String, CaseIterable, Sendable {
        case set, unset, increment, toggle, append, remove, merge

        /// `unset` and `toggle` list paths; the others give each path an expression.
        var takesValue: Bool { self != .unset && self != .toggle }
    }

    let kind: Kind
    let path: WritePath
    /// The path, where it is known when the definition is loaded.
    let fixed: StatePath?
    /// The expression; null for kinds that take none.
    let value: ExpressionNode
    /// What a change at the path means to the computed values; nil where the payload names the first segment.
    let bits: UInt64?

    init(_ kind: Kind, _ path: WritePath, value: ExpressionNode?, bits: UInt64?) {
        self.kind = kind
        self.path = path
        if case .fixed(let known) = path { fixed = known } else { fixed = nil }
        self.value = value ?? LiteralNode(.null)
        self.bits = bits
    }

    /// Writes a value through the draft.
    @inline(__always)
    func write(_ value: JSON, at path: StatePath, to draft: inout Draft) throws(WriteFailure) {
        switch kind {
        case .set: try draft.set(path, to: value)
        case .unset: try draft.unset(path)
        case .increment: try draft.increment(path, by: value)
        case .toggle: try draft.toggle(path)
        case .append: try draft.append(path, value)
        case .remove: try draft.remove(path, value)
        case .merge: try draft.merge(path, value)
        }
    }

    /// Whether a value may go to a path without nesting the state too deeply.
    @inline(__always)
    func mayHold(_ value: JSON, at path: StatePath) -> Bool {
        switch value {
        case .array, .object:
            value.nests(atMost: Evaluation.deepestValue - path.segments.count - (kind == .append ? 1 : 0))
        default: true
        }
    }
}
