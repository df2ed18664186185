import BusJSON

/// Operations on values as CEL has them: nothing is taken for what it is not.

/// Its operand, which has to be true or false.
final class BooleanNode: PredicateNode, @unchecked Sendable {
    let operand: ExpressionNode
    /// What needs it, for the failure.
    private let owner: String

    init(_ operand: ExpressionNode, for owner: String) {
        self.operand = operand
        self.owner = owner
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        let value = try operand.scalar(&evaluation)
        if case .bool(let flag) = value { return flag }
        throw .failed("\(owner) needs true or false and was given \(evaluation.take(value).kind)")
    }
}

/// `&&` and `||`: whichever operand decides, decides, though others fail. Where none does, the first failure counts.
final class AbsorbingNode: PredicateNode, @unchecked Sendable {
    let operands: Operands
    /// What decides: true for `||`, false for `&&`.
    let decisive: Bool

    /// Takes operands that are true or false.
    init(_ operands: [ExpressionNode], decisive: Bool) {
        self.operands = Operands(operands)
        self.decisive = decisive
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        var failure: EvaluationFailure?
        for index in operands.indices {
            do throws(EvaluationFailure) {
                if try operands[index].truth(&evaluation) == decisive { return decisive }
            } catch {
                failure = try error.absorbed(after: failure)
            }
        }
        if let failure { throw failure }
        return !decisive
    }
}

extension EvaluationFailure {
    /// Itself, or the one before it, where another operand may still decide; a limit that is reached stays reached.
    func absorbed(after earlier: EvaluationFailure?) throws(EvaluationFailure) -> EvaluationFailure {
        guard error != nil else { throw self }
        return earlier ?? self
    }
}

/// `<`, `<=`, `>`, `>=` between two numbers, two texts, or two booleans.
final class StrictOrderNode: PredicateNode, @unchecked Sendable {
    let relation: OrderNode.Relation
    let left: ExpressionNode
    let right: ExpressionNode

    init(_ relation: OrderNode.Relation, _ left: ExpressionNode, _ right: ExpressionNode) {
        self.relation = relation
        self.left = left
        self.right = right
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        let left = try left.scalar(&evaluation)
        guard case .held = left else {
            let right = try right.scalar(&evaluation)
            switch (left, right) {
            case (.int(let a), .int(let b)): return relation.holds(a < b ? -1 : a > b ? 1 : 0)
            case (.bool(let a), .bool(let b)): return relation.holds((a ? 1 : 0) - (b ? 1 : 0))
            default: break
            }
            if let a = left.strictNumber, let b = right.strictNumber {
                // What is no number has no order.
                return !a.isNaN && !b.isNaN && relation.holds(a.compared(to: b))
            }
            throw incomparable(evaluation.take(left), evaluation.take(right))
        }
        let a = evaluation.take(left)
        let b = try right.value(&evaluation)
        guard case .string(let x) = a, case .string(let y) = b else { throw incomparable(a, b) }
        return try relation.holds(evaluation.order(x, y))
    }

    private func incomparable(_ left: JSON, _ right: JSON) -> EvaluationFailure {
        .failed("\(relation.name) can't compare \(left.kind) with \(right.kind)")
    }
}

extension Scalar {
    /// The number that it is.
    @inline(__always)
    var strictNumber: Number? {
        switch self {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        default: nil
        }
    }
}

extension Number {
    var isNaN: Bool { if case .double(let number) = self { number.isNaN } else { false } }
}

/// `in`: whether a list has an equal element, or a map the key.
final class ContainmentNode: PredicateNode, @unchecked Sendable {
    let element: ExpressionNode
    let container: ExpressionNode

    init(_ element: ExpressionNode, _ container: ExpressionNode) {
        self.element = element
        self.container = container
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        let sought = try element.value(&evaluation)
        switch try container.value(&evaluation) {
        case .array(let elements): return try evaluation.contains(sought, in: elements)
        case .object(let object):
            guard case .string(let key) = sought else { return false }
            try evaluation.read(key.utf8.count)
            return object[key] != nil
        case let other: throw .failed("in needs a list or a map and was given \(other.kind)")
        }
    }
}

/// `+`: of numbers the sum, of texts and of lists one behind the other.
final class StrictSumNode: ScalarNode, @unchecked Sendable {
    let left: ExpressionNode
    let right: ExpressionNode

    init(_ left: ExpressionNode, _ right: ExpressionNode) {
        self.left = left
        self.right = right
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let left = try left.scalar(&evaluation)
        guard case .held = left else {
            let right = try right.scalar(&evaluation)
            if case .int(let a) = left, case .int(let b) = right {
                let (sum, overflow) = a.addingReportingOverflow(b)
                if overflow { throw .overflow(operation: "+") }
                return .int(sum)
            }
            if let a = left.strictNumber, let b = right.strictNumber {
                // A sum is no negative zero, as in JsonLogic.
                return .double(a.asDouble + b.asDouble + 0)
            }
            throw Self.mismatch(evaluation.take(left), evaluation.take(right))
        }
        let a = evaluation.take(left)
        return try joined(a, right.value(&evaluation), &evaluation)
    }

    private func joined(
        _ left: JSON, _ right: JSON, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Scalar {
        switch (left, right) {
        case (.string(let a), .string(let b)):
            try evaluation.produce(a.utf8.count + b.utf8.count)
            return evaluation.scalar(.string(a + b))
        case (.array(let a), .array(let b)):
            for element in a { try evaluation.produce(element: element) }
            for element in b { try evaluation.produce(element: element) }
            return evaluation.scalar(.array(a + b))
        default: throw Self.mismatch(left, right)
        }
    }

    private static func mismatch(_ left: JSON, _ right: JSON) -> EvaluationFailure {
        .failed("+ takes two numbers, two texts or two lists, and was given \(left.kind) and \(right.kind)")
    }
}

/// `-`, `*`, `/` and `%` of two numbers. Integers stay integers and are exact; with a double they give a double, which
/// may be infinite until the expression is done.
final class StrictArithmeticNode: ScalarNode, @unchecked Sendable {
    enum Operation: String {
        case difference = "-"
        case product = "*"
        case quotient = "/"
        case remainder = "%"
    }

    let operation: Operation
    let left: ExpressionNode
    let right: ExpressionNode

    init(_ operation: Operation, _ left: ExpressionNode, _ right: ExpressionNode) {
        self.operation = operation
        self.left = left
        self.right = right
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let left = try left.scalar(&evaluation)
        guard let a = left.strictNumber else { throw mismatch(evaluation.take(left)) }
        let right = try right.scalar(&evaluation)
        guard let b = right.strictNumber else { throw mismatch(evaluation.take(right)) }
        if case .int(let x) = a, case .int(let y) = b { return .int(try exact(x, y)) }
        let (x, y) = (a.asDouble, b.asDouble)
        switch operation {
        case .difference: return .double(x - y)
        case .product: return .double(x * y)
        case .quotient: return .double(x / y)
        case .remainder:
            throw .failed("% needs two integers; a remainder of doubles is x - y * math.trunc(x / y)")
        }
    }

    private func exact(_ a: Int, _ b: Int) throws(EvaluationFailure) -> Int {
        let (result, overflow): (Int, Bool) =
            switch operation {
            case .difference: a.subtractingReportingOverflow(b)
            case .product: a.multipliedReportingOverflow(by: b)
            case .quotient where b != 0: a.dividedReportingOverflow(by: b)
            // The remainder of the smallest integer and -1 is 0, though their quotient overflows.
            case .remainder where b != 0: (b == -1 ? 0 : a % b, false)
            default: throw .divisionByZero(operation: operation.rawValue)
            }
        if overflow { throw .overflow(operation: operation.rawValue) }
        return result
    }

    private func mismatch(_ value: JSON) -> EvaluationFailure {
        .failed("\(operation.rawValue) needs numbers and was given \(value.kind)")
    }
}

/// `-` before a number.
final class StrictNegationNode: ScalarNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        switch try operand.scalar(&evaluation) {
        case .int(let number):
            if number == .min { throw .overflow(operation: "-") }
            return .int(-number)
        case .double(let number): return .double(-number)
        case let other: throw .failed("- needs a number and was given \(evaluation.take(other).kind)")
        }
    }
}

/// What an expression gives to others: no number in it is infinite, or none at all.
final class FiniteNode: ScalarNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        let value = try operand.scalar(&evaluation)
        switch value {
        case .double(let number) where !number.isFinite: throw Self.failure
        case .held:
            let held = evaluation.take(value)
            try Self.check(held, &evaluation)
            return evaluation.scalar(held)
        default: return value
        }
    }

    private static func check(_ value: JSON, _ evaluation: inout Evaluation) throws(EvaluationFailure) {
        switch value {
        case .double(let number) where !number.isFinite: throw failure
        case .array(let elements):
            try evaluation.spend(elements.count)
            for element in elements { try check(element, &evaluation) }
        case .object(let object):
            try evaluation.spend(object.count)
            for member in object.members { try check(member.value, &evaluation) }
        default: return
        }
    }

    private static let failure = EvaluationFailure.failed(
        "a number is infinite or undefined, as after a division by zero")
}
