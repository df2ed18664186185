import BusJSON

/// `if` and `?:`: conditions and values in turn, perhaps a last value.
final class ConditionNode: ExpressionNode, @unchecked Sendable {
    let parts: [ExpressionNode]

    init(_ parts: [ExpressionNode]) { self.parts = parts }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var index = 0
        while index + 1 < parts.count {
            if try parts[index].truth(&evaluation) { return try parts[index + 1].value(&evaluation) }
            index += 2
        }
        return index < parts.count ? try parts[index].value(&evaluation) : .null
    }
}

/// `and` and `or`: the first operand that decides, else the last; the others are not looked at. Without operands
/// both are false.
final class JunctionNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]
    /// What decides: true for `or`, false for `and`.
    let decisive: Bool

    init(_ operands: [ExpressionNode], decisive: Bool) {
        self.operands = operands
        self.decisive = decisive
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var last = JSON.bool(false)
        for operand in operands {
            last = try operand.value(&evaluation)
            if last.isTruthy == decisive { return last }
        }
        return last
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        for operand in operands where try operand.truth(&evaluation) == decisive { return decisive }
        return operands.isEmpty ? false : !decisive
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
        let a = try left.value(&evaluation)
        let b = try right.value(&evaluation)
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
        let a = try left.value(&evaluation)
        let b = try right.value(&evaluation)
        guard let order = try evaluation.order(a, b, operation: relation.name), relation.holds(order) else {
            return false
        }
        guard let last else { return true }
        let c = try last.value(&evaluation)
        guard let order = try evaluation.order(b, c, operation: relation.name) else { return false }
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
final class CoalescingNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]

    init(_ operands: [ExpressionNode]) { self.operands = operands }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        for operand in operands {
            let value = try operand.value(&evaluation)
            if !value.isNull { return value }
        }
        return .null
    }
}

/// `log`: passes its operand through; the bus has nowhere to print to.
final class PassNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        return try operand.value(&evaluation)
    }
}
