import BusJSON

/// A value that may be absent: `a.?b`, `optional.of(a)`. It is none that a state can hold, so an expression ends it with
/// `orValue`, `hasValue` or another of the nodes below.
final class OptionalNode: Sendable {
    /// What may be absent itself, or not.
    enum Owner: @unchecked Sendable {
        case value(ExpressionNode)
        case optional(OptionalNode)
        case store(StoreStateNode)

        func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
            switch self {
            case .value(let node): try node.value(&evaluation)
            case .optional(let node): try node.find(&evaluation)
            case .store(let node): try node.find(&evaluation)
            }
        }
    }

    enum Source: @unchecked Sendable {
        case none
        /// Of a store that may not be there.
        case owner(Owner)
        case member(Owner, String)
        case index(Owner, ExpressionNode)
        /// `optional.of`; `optional.ofNonZeroValue`, which is absent for null, false, 0 and what is empty.
        case of(ExpressionNode, isNonZero: Bool)
        case or(OptionalNode, OptionalNode)
        /// `optMap`, `optFlatMap`: the value with a name, in what is made of it.
        case bound(OptionalNode, Owner)
        case conditional(ExpressionNode, OptionalNode, OptionalNode)
        /// `first`, `last`.
        case end(ExpressionNode, isFirst: Bool)
    }

    let source: Source

    init(_ source: Source) { self.source = source }

    /// Nil where it is absent.
    func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        try evaluation.spend()
        switch source {
        case .none: return nil
        case .owner(let owner): return try owner.find(&evaluation)
        case .member(let owner, let name):
            guard let value = try owner.find(&evaluation) else { return nil }
            return try Evaluation.member(name, of: value)
        case .index(let owner, let key):
            guard let container = try owner.find(&evaluation) else { return nil }
            let key = try key.value(&evaluation)
            return try evaluation.element(of: container, at: key)
        case .of(let node, let isNonZero):
            let value = try node.value(&evaluation)
            return isNonZero && value.isZero ? nil : value
        case .or(let one, let other):
            if let found = try one.find(&evaluation) { return found }
            return try other.find(&evaluation)
        case .bound(let optional, let body):
            guard let value = try optional.find(&evaluation) else { return nil }
            evaluation.locals.append(value)
            defer { evaluation.locals.removeLast() }
            return try body.find(&evaluation)
        case .conditional(let condition, let one, let other):
            return try condition.truth(&evaluation) ? one.find(&evaluation) : other.find(&evaluation)
        case .end(let list, let isFirst):
            guard case .array(let elements) = try list.value(&evaluation) else {
                throw .failed("\(isFirst ? "first" : "last") needs a list")
            }
            return isFirst ? elements.first : elements.last
        }
    }
}

extension JSON {
    /// Whether it is the zero of its kind.
    fileprivate var isZero: Bool {
        switch self {
        case .object(let object): object.isEmpty
        default: !isTruthy
        }
    }
}

/// `a.orValue(b)`; `a.value()`, which fails where there is none.
final class OptionalValueNode: ScalarNode, @unchecked Sendable {
    let optional: OptionalNode
    let fallback: ExpressionNode

    init(_ optional: OptionalNode, or fallback: ExpressionNode) {
        self.optional = optional
        self.fallback = fallback
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        if let value = try optional.find(&evaluation) { return evaluation.scalar(value) }
        return try fallback.scalar(&evaluation)
    }
}

/// `a.hasValue()`, `has(a.?b)`.
final class PresenceNode: PredicateNode, @unchecked Sendable {
    let optional: OptionalNode

    init(_ optional: OptionalNode) { self.optional = optional }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try optional.find(&evaluation) != nil
    }
}
