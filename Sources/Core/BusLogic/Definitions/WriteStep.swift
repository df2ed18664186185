import BusJSON
import BusState

/// One write of an action. A class, so that going through an action's writes copies nothing.
final class WriteStep: Sendable {
    let kind: WriteKind
    let path: WritePath
    /// The path, where it is known when the definition is loaded.
    let fixed: StatePath?
    /// The expression; null for kinds that take none.
    let value: ExpressionNode
    /// What a change at the path means to the computed values; nil where the payload names the first segment.
    let bits: UInt64?
    /// What the write is held against; nil where it can't break what states have to be.
    let check: WriteCheck?

    init(
        _ kind: WriteKind, _ path: WritePath, value: ExpressionNode?, bits: UInt64?, check: WriteCheck? = nil
    ) {
        self.kind = kind
        self.path = path
        if case .fixed(let known) = path { fixed = known } else { fixed = nil }
        self.value = value ?? LiteralNode(.null)
        self.bits = bits
        self.check = check
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

/// A write without a check to a path that the definition fixes. It is applied without looking at its step, which owns the path:
/// rules cost 4 % less.
struct DirectWrite: @unchecked Sendable {
    let kind: WriteKind
    let path: UnsafePointer<StatePath.Parts>
    /// What a change at the path means to the computed values.
    let bits: UInt64

    /// Nil for any other write.
    init?(_ step: WriteStep) {
        guard step.check == nil, let bits = step.bits, let path = step.fixed else { return nil }
        kind = step.kind
        self.path = path.parts
        self.bits = bits
    }
}
