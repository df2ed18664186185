import BusJSON

/// `+`: the sum of all operands, each taken as the number it begins with.
final class SumNode: ScalarNode, @unchecked Sendable {
    let operands: Operands

    init(_ operands: [ExpressionNode]) { self.operands = Operands(operands) }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        var sum = Number.int(0)
        for index in operands.indices {
            let operand = try operands[index].scalar(&evaluation)
            let number = try evaluation.number(operand, for: "+") { $0.leadingNumber }
            if case .int(let a) = sum, case .int(let b) = number {
                let (next, overflow) = a.addingReportingOverflow(b)
                if overflow { throw .overflow(operation: "+") }
                sum = .int(next)
            } else {
                sum = .double(sum.asDouble + number.asDouble)
            }
        }
        return try sum.result(of: "+")
    }
}

/// `*`: the product of all operands, each taken as the number it begins with; without any it is 1.
final class ProductNode: ScalarNode, @unchecked Sendable {
    let operands: Operands

    init(_ operands: [ExpressionNode]) { self.operands = Operands(operands) }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        var product = Number.int(1)
        for index in operands.indices {
            let operand = try operands[index].scalar(&evaluation)
            let number = try evaluation.number(operand, for: "*") { $0.leadingNumber }
            if case .int(let a) = product, case .int(let b) = number {
                let (next, overflow) = a.multipliedReportingOverflow(by: b)
                if overflow { throw .overflow(operation: "*") }
                product = .int(next)
            } else {
                product = .double(product.asDouble * number.asDouble)
            }
        }
        return try product.result(of: "*")
    }
}

/// `-` with one operand.
final class NegationNode: ScalarNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let value = try operand.scalar(&evaluation)
        switch try evaluation.number(value, for: "-") {
        case .int(let number):
            let (negative, overflow) = 0.subtractingReportingOverflow(number)
            if overflow { throw .overflow(operation: "-") }
            return .int(negative)
        case .double(let number): return try Number.double(-number).result(of: "-")
        }
    }
}

/// `-`, `/` and `%` with two operands.
final class BinaryNode: ScalarNode, @unchecked Sendable {
    enum Operation {
        case difference, quotient, remainder

        /// The operator.
        var name: StaticString {
            switch self {
            case .difference: "-"
            case .quotient: "/"
            case .remainder: "%"
            }
        }
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
        let a = try left.scalar(&evaluation)
        let x = try evaluation.number(a, for: operation.name)
        let b = try right.scalar(&evaluation)
        let y = try evaluation.number(b, for: operation.name)
        return try operation.result(x, y)
    }
}

extension BinaryNode.Operation {
    @inline(__always)
    func result(_ a: Number, _ b: Number) throws(EvaluationFailure) -> Scalar {
        if case .int(let a) = a, case .int(let b) = b { return try exact(a, b) }
        let (x, y) = (a.asDouble, b.asDouble)
        switch self {
        case .difference: return try Number.double(x - y).result(of: "-")
        case .quotient:
            if y == 0 { throw .divisionByZero(operation: "/") }
            return try Number.double(x / y).result(of: "/")
        case .remainder:
            if y == 0 { throw .divisionByZero(operation: "%") }
            return try Number.double(x.truncatingRemainder(dividingBy: y)).result(of: "%")
        }
    }

    private func exact(_ a: Int, _ b: Int) throws(EvaluationFailure) -> Scalar {
        switch self {
        case .difference:
            let (difference, overflow) = a.subtractingReportingOverflow(b)
            if overflow { throw .overflow(operation: "-") }
            return .int(difference)
        case .quotient:
            if b == 0 { throw .divisionByZero(operation: "/") }
            let (quotient, overflow) = a.dividedReportingOverflow(by: b)
            if overflow { throw .overflow(operation: "/") }
            return quotient &* b == a ? .int(quotient) : .double(Double(a) / Double(b))
        case .remainder:
            if b == 0 { throw .divisionByZero(operation: "%") }
            // The remainder of the smallest integer and -1 is 0, though their quotient overflows.
            return .int(b == -1 ? 0 : a % b)
        }
    }
}

/// `-`, `/` and `%` with any other number of operands: from left to right, and `/` with one is its reciprocal.
final class FoldNode: ScalarNode, @unchecked Sendable {
    let operation: BinaryNode.Operation
    let operands: Operands

    init(_ operation: BinaryNode.Operation, _ operands: [ExpressionNode]) {
        self.operation = operation
        self.operands = Operands(operands)
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        var result: Number? = operands.count == 1 ? .int(1) : nil
        for index in operands.indices {
            let operand = try operands[index].scalar(&evaluation)
            let number = try evaluation.number(operand, for: operation.name)
            guard let left = result else {
                result = number
                continue
            }
            result = try operation.result(left, number).number
        }
        return try (result ?? .int(0)).result(of: operation.name)
    }
}

/// `max` and `min`.
final class ExtremeNode: ScalarNode, @unchecked Sendable {
    let operands: Operands
    let largest: Bool

    init(_ operands: [ExpressionNode], largest: Bool) {
        self.operands = Operands(operands)
        self.largest = largest
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let name: StaticString = largest ? "max" : "min"
        var best: Number?
        for index in operands.indices {
            let operand = try operands[index].scalar(&evaluation)
            let number = try evaluation.number(operand, for: name) { $0.number }
            if let found = best {
                let order = number.compared(to: found)
                if largest ? order > 0 : order < 0 { best = number }
            } else {
                best = number
            }
        }
        guard let best else { throw .notNumber(operation: "\(name)", kind: "nothing") }
        return try best.result(of: name)
    }
}
