import BusJSON

/// One operation of a compiled expression. Compiling makes a tree of these once; evaluating is one call per
/// operation, without looking at the definition again.
///
/// `@unchecked Sendable`: all concrete subclasses are final and hold constants only; Swift can't see that through a
/// class that may be inherited from.
class ExpressionNode: @unchecked Sendable {
    /// The operation's value.
    func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        preconditionFailure("Every operation of an expression computes its own value.")
    }

    /// Whether the operation's value counts as true.
    func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try value(&evaluation).isTruthy
    }

    /// The value, where it is the same for all data.
    var constant: JSON? { nil }

    /// How many operations the value takes where it is a constant or stands in the payload; nil where it has to be
    /// evaluated.
    var plainOperations: Int? { nil }

    /// The value, where it is a constant or stands in the payload, which is looked at where it stands.
    func plainValue(_ payload: UnsafePointer<JSONObject>) -> JSON { .null }
}

/// An operation that is true or false: a subclass says which.
class PredicateNode: ExpressionNode, @unchecked Sendable {
    final override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }
}

/// A value that does not depend on data.
final class LiteralNode: ExpressionNode, @unchecked Sendable {
    let literal: JSON

    init(_ literal: JSON) { self.literal = literal }

    override func value(_ evaluation: inout Evaluation) -> JSON { literal }

    override var constant: JSON? { literal }

    override var plainOperations: Int? { 0 }

    override func plainValue(_ payload: UnsafePointer<JSONObject>) -> JSON { literal }
}
