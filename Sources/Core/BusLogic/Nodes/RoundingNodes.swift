import BusJSON

/// `round`, `floor`, `ceil`: the nearest integer, the one below, the one above; half of one goes away from zero. With
/// a number of digits, that many stay behind the point.
final class RoundingNode: ScalarNode, @unchecked Sendable {
    enum Operation: String {
        case round, floor, ceil

        /// The operator.
        var name: StaticString {
            switch self {
            case .round: "round"
            case .floor: "floor"
            case .ceil: "ceil"
            }
        }

        var rule: FloatingPointRoundingRule {
            switch self {
            case .round: .toNearestOrAwayFromZero
            case .floor: .down
            case .ceil: .up
            }
        }
    }

    /// As many as a double has for sure.
    static let mostDigits = 15

    let operation: Operation
    let operand: ExpressionNode
    let digits: ExpressionNode?

    init(_ operation: Operation, _ operand: ExpressionNode, digits: ExpressionNode?) {
        self.operation = operation
        self.operand = operand
        self.digits = digits
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let value = try operand.value(&evaluation)
        var places = 0
        if let digits = try digits?.value(&evaluation) {
            guard let number = digits.wholeNumber, 0...Self.mostDigits ~= number else {
                throw .invalidArguments(
                    operation: "\(operation.name)", reason: "takes 0 to \(Self.mostDigits) digits")
            }
            places = number
        }
        switch try evaluation.number(value, as: \.scalarNumber) {
        case nil: throw .notNumber(operation: "\(operation.name)", kind: value.kind)
        case .int(let number): return .int(number)
        case .double(let number):
            if places > 0 { return try Number.double(rounded(number, places)).result(of: operation.name) }
            guard let whole = Int(exactly: number.rounded(operation.rule)) else {
                throw .overflow(operation: "\(operation.name)")
            }
            return .int(whole)
        }
    }

    private func rounded(_ number: Double, _ places: Int) -> Double {
        var power = 1.0
        for _ in 0..<places { power *= 10 }
        let scaled = number * power
        // From there on a double has no digits behind the point.
        guard abs(scaled) < 0x1p53 else { return number }
        return scaled.rounded(operation.rule) / power + 0
    }
}

/// `abs`: a number without its sign.
final class MagnitudeNode: ScalarNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let value = try operand.scalar(&evaluation)
        switch try evaluation.number(value, for: "abs") {
        case .double(let number): return try Number.double(abs(number)).result(of: "abs")
        case .int(let number):
            if number == .min { throw .overflow(operation: "abs") }
            return .int(abs(number))
        }
    }
}
