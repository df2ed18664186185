import BusJSON

/// `if` and `?:`: conditions and values in turn, perhaps a last value.
final class ConditionNode: ScalarNode, @unchecked Sendable {
    let parts: Operands

    init(_ parts: [ExpressionNode]) { self.parts = Operands(parts) }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        var index = 0
        while index + 1 < parts.count {
            if try parts[index].truth(&evaluation) { return try parts[index + 1].scalar(&evaluation) }
            index += 2
        }
        return index < parts.count ? try parts[index].scalar(&evaluation) : .null
    }
}

/// `and` and `or`: the first operand that decides, else the last; the others are not looked at. Without operands
/// both are false.
final class JunctionNode: ScalarNode, @unchecked Sendable {
    let operands: Operands
    /// What decides: true for `or`, false for `and`.
    let decisive: Bool

    init(_ operands: [ExpressionNode], decisive: Bool) {
        self.operands = Operands(operands)
        self.decisive = decisive
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        var last = Scalar.bool(false)
        for index in operands.indices {
            last = try operands[index].scalar(&evaluation)
            if evaluation.isTruthy(last) == decisive { return last }
        }
        return last
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        for index in operands.indices where try operands[index].truth(&evaluation) == decisive {
            return decisive
        }
        return operands.count == 0 ? false : !decisive
    }
}

/// `!` and `!!`.
final class TruthNode: PredicateNode, @unchecked Sendable {
    let operand: ExpressionNode
    let inverted: Bool

    init(_ operand: ExpressionNode, inverted: Bool) {
        self.operand = operand
        self.inverted = inverted
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        return try operand.truth(&evaluation) != inverted
    }
}

/// `==`, `!=`, `===`, `!==`.
final class EqualityNode: PredicateNode, @unchecked Sendable {
    let left: ExpressionNode
    let right: ExpressionNode
    let strict: Bool
    let inverted: Bool

    init(_ left: ExpressionNode, _ right: ExpressionNode, strict: Bool, inverted: Bool) {
        self.left = left
        self.right = right
        self.strict = strict
        self.inverted = inverted
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        let left = try left.scalar(&evaluation)
        let a = evaluation.take(left)
        let right = try right.scalar(&evaluation)
        if case .int(let x) = left, case .int(let y) = right { return (x == y) != inverted }
        let b = evaluation.take(right)
        return try Self.equal(a, b, strict: strict, inverted: inverted, &evaluation) != inverted
    }
}

extension EqualityNode {
    @inline(__always)
    static func equal(
        _ left: JSON, _ right: JSON, strict: Bool, inverted: Bool, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Bool {
        if strict { return try evaluation.deeplyEqual(left, right) }
        return try evaluation.looselyEqual(left, right, operation: inverted ? "!=" : "==")
    }
}

/// `<`, `<=`, `>`, `>=`; with three operands they ask whether the middle one lies between.
final class OrderNode: PredicateNode, @unchecked Sendable {
    enum Relation {
        case less, lessOrEqual, greater, greaterOrEqual

        @inline(__always)
        func holds(_ order: Int) -> Bool {
            switch self {
            case .less: order < 0
            case .lessOrEqual: order <= 0
            case .greater: order > 0
            case .greaterOrEqual: order >= 0
            }
        }

        /// The operator.
        var name: StaticString {
            switch self {
            case .less: "<"
            case .lessOrEqual: "<="
            case .greater: ">"
            case .greaterOrEqual: ">="
            }
        }
    }

    let relation: Relation
    let left: ExpressionNode
    let right: ExpressionNode
    let last: ExpressionNode?

    init(_ relation: Relation, _ left: ExpressionNode, _ right: ExpressionNode, _ last: ExpressionNode?) {
        self.relation = relation
        self.left = left
        self.right = right
        self.last = last
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        if last != nil { return try isBetween(&evaluation) }
        let left = try left.scalar(&evaluation)
        guard let x = left.number else {
            let a = evaluation.take(left)
            return try holds(a, right.value(&evaluation), &evaluation)
        }
        let right = try right.scalar(&evaluation)
        if let y = right.number { return relation.holds(x.compared(to: y)) }
        return try holds(evaluation.take(left), evaluation.take(right), &evaluation)
    }

    private func isBetween(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        let a = try left.value(&evaluation)
        let b = try right.value(&evaluation)
        guard try holds(a, b, &evaluation) else { return false }
        guard let last else { return true }
        return try holds(b, last.value(&evaluation), &evaluation)
    }

    private func holds(
        _ left: JSON, _ right: JSON, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Bool {
        guard let order = try evaluation.order(left, right, operation: relation.name) else { return false }
        return relation.holds(order)
    }
}

/// A comparison of more operands than the common ones take: it holds where it holds between each and the next.
/// The first pair for which it does not ends it; what comes behind is not looked at.
final class ChainNode: PredicateNode, @unchecked Sendable {
    enum Comparison {
        case order(OrderNode.Relation)
        case equality(strict: Bool, inverted: Bool)
    }

    let comparison: Comparison
    let operands: [ExpressionNode]

    init(_ comparison: Comparison, _ operands: [ExpressionNode]) {
        self.comparison = comparison
        self.operands = operands
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        var left = try operands[0].value(&evaluation)
        for operand in operands.dropFirst() {
            let right = try operand.value(&evaluation)
            guard try holds(left, right, &evaluation) else { return false }
            left = right
        }
        return true
    }

    private func holds(
        _ left: JSON, _ right: JSON, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Bool {
        switch comparison {
        case .order(let relation):
            guard let order = try evaluation.order(left, right, operation: relation.name) else {
                return false
            }
            return relation.holds(order)
        case .equality(let strict, let inverted):
            return try EqualityNode.equal(left, right, strict: strict, inverted: inverted, &evaluation)
                != inverted
        }
    }
}

/// `??`: the first operand that is not null; the others are not looked at.
final class CoalescingNode: ScalarNode, @unchecked Sendable {
    let operands: Operands

    init(_ operands: [ExpressionNode]) { self.operands = Operands(operands) }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        for index in operands.indices {
            let value = try operands[index].scalar(&evaluation)
            if case .null = value { continue }
            return value
        }
        return .null
    }
}

/// `log`: passes its operand through; the bus has nowhere to print to.
final class PassNode: ScalarNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        return try operand.scalar(&evaluation)
    }
}
