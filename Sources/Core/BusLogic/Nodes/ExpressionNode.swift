import BusJSON

/// One operation of a compiled expression. Compiling makes a tree of these once; evaluating is one call per
/// operation, without looking at the definition again.
///
/// A concrete operation says either its `value`, as those on texts, arrays and objects do, or as a `ScalarNode` its
/// `scalar`, as those do that mostly have numbers and booleans; each is made from the other.
///
/// `@unchecked Sendable`: all concrete subclasses are final and hold constants only; Swift can't see that through a
/// class that may be inherited from.
class ExpressionNode: @unchecked Sendable {
    /// The operation's value.
    func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        preconditionFailure("Every operation of an expression computes its own value.")
    }

    /// The operation's value, of which numbers, booleans and null are not put into memory.
    func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        evaluation.scalar(try value(&evaluation))
    }

    /// Whether the operation's value counts as true.
    func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        let value = try scalar(&evaluation)
        return evaluation.isTruthy(value)
    }

    /// The value, where it is the same for all data.
    var constant: JSON? { nil }

    /// How many operations the value takes where it is a constant or stands in the payload; nil where it has to be
    /// evaluated.
    var plainOperations: Int? { nil }

    /// The value, where it is a constant or stands in the payload, which is looked at where it stands.
    func plainValue(_ payload: UnsafePointer<JSONObject>) -> JSON { .null }
}

/// An operation whose value is mostly a number, a boolean or null.
class ScalarNode: ExpressionNode, @unchecked Sendable {
    final override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        evaluation.take(try scalar(&evaluation))
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        preconditionFailure("Every operation of an expression computes its own value.")
    }
}

/// An operation that is true or false: a subclass says which.
class PredicateNode: ExpressionNode, @unchecked Sendable {
    final override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }

    final override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        .bool(try truth(&evaluation))
    }
}

/// A value that does not depend on data.
final class LiteralNode: ExpressionNode, @unchecked Sendable {
    let literal: JSON
    /// The number that it is.
    private let number: Scalar?

    init(_ literal: JSON) {
        self.literal = literal
        switch literal {
        case .int(let number): self.number = .int(number)
        case .double(let number): self.number = .double(number)
        default: number = nil
        }
    }

    override func value(_ evaluation: inout Evaluation) -> JSON { literal }

    override func scalar(_ evaluation: inout Evaluation) -> Scalar { number ?? other(&evaluation) }

    @inline(never)
    private func other(_ evaluation: inout Evaluation) -> Scalar { evaluation.scalar(literal) }

    override var constant: JSON? { literal }

    override var plainOperations: Int? { 0 }

    override func plainValue(_ payload: UnsafePointer<JSONObject>) -> JSON { literal }
}
