import BusJSON

/// `+`: the sum of all operands, each taken as the number it begins with.
final class SumNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]

    init(_ operands: [ExpressionNode]) { self.operands = operands }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var sum = Number.int(0)
        for operand in operands {
            let value = try operand.value(&evaluation)
            guard let number = value.leadingNumber else { throw .notNumber(operation: "+", kind: value.kind) }
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
final class ProductNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]

    init(_ operands: [ExpressionNode]) { self.operands = operands }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var product = Number.int(1)
        for operand in operands {
            let value = try operand.value(&evaluation)
            guard let number = value.leadingNumber else { throw .notNumber(operation: "*", kind: value.kind) }
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
final class NegationNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let value = try operand.value(&evaluation)
        switch value.scalarNumber {
        case .int(let number):
            let (negative, overflow) = 0.subtractingReportingOverflow(number)
            if overflow { throw .overflow(operation: "-") }
            return .int(negative)
        case .double(let number): return try Number.double(-number).result(of: "-")
        case nil: throw .notNumber(operation: "-", kind: value.kind)
        }
    }
}

/// `-`, `/` and `%` with two operands.
final class BinaryNode: ExpressionNode, @unchecked Sendable {
    enum Operation: String {
        case difference = "-"
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

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let a = try number(of: left, &evaluation)
        let b = try number(of: right, &evaluation)
        return try operation.result(a, b)
    }

    private func number(
        of operand: ExpressionNode, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Number {
        let value = try operand.value(&evaluation)
        guard let number = value.scalarNumber else {
            throw .notNumber(operation: operation.rawValue, kind: value.kind)
        }
        return number
    }
}

extension BinaryNode.Operation {
    @inline(__always)
    func result(_ a: Number, _ b: Number) throws(EvaluationFailure) -> JSON {
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

    private func exact(_ a: Int, _ b: Int) throws(EvaluationFailure) -> JSON {
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
final class FoldNode: ExpressionNode, @unchecked Sendable {
    let operation: BinaryNode.Operation
    let operands: [ExpressionNode]

    init(_ operation: BinaryNode.Operation, _ operands: [ExpressionNode]) {
        self.operation = operation
        self.operands = operands
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var result: Number? = operands.count == 1 ? .int(1) : nil
        for operand in operands {
            let value = try operand.value(&evaluation)
            guard let number = value.scalarNumber else {
                throw .notNumber(operation: operation.rawValue, kind: value.kind)
            }
            guard let left = result else {
                result = number
                continue
            }
            result = try operation.result(left, number).scalarNumber
        }
        return try (result ?? .int(0)).result(of: operation.rawValue)
    }
}

/// `max` and `min`.
final class ExtremeNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]
    let largest: Bool

    init(_ operands: [ExpressionNode], largest: Bool) {
        self.operands = operands
        self.largest = largest
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let name = largest ? "max" : "min"
        var best: Number?
        for operand in operands {
            let value = try operand.value(&evaluation)
            guard let number = value.number else { throw .notNumber(operation: name, kind: value.kind) }
            if let found = best {
                let order = number.compared(to: found)
                if largest ? order > 0 : order < 0 { best = number }
            } else {
                best = number
            }
        }
        guard let best else { throw .notNumber(operation: name, kind: "nothing") }
        return try best.result(of: name)
    }
}
