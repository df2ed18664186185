import BusJSON

/// An operator whose operands are given by one expression instead of an array of them: where its value is an array,
/// the elements are the operands, else the value is the only one.
final class ChainedNode: ExpressionNode, @unchecked Sendable {
    let name: String
    let argument: ExpressionNode
    let counts: ClosedRange<Int>
    /// Makes the operation of as many operands as `counts` has.
    let operation: @Sendable ([ExpressionNode]) -> ExpressionNode

    init(
        _ name: String, _ argument: ExpressionNode, counts: ClosedRange<Int>,
        operation: @escaping @Sendable ([ExpressionNode]) -> ExpressionNode
    ) {
        self.name = name
        self.argument = argument
        self.counts = counts
        self.operation = operation
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        let given = try argument.value(&evaluation)
        var operands = [given]
        if case .array(let elements) = given {
            try evaluation.spend(elements.count)
            operands = elements
        }
        guard counts.contains(operands.count) else {
            let reason = "takes \(counts.inWords), not \(operands.count)"
            throw .invalidArguments(operation: name, reason: reason)
        }
        return try operation(operands.map { LiteralNode($0) }).value(&evaluation)
    }
}

extension ClosedRange<Int> {
    /// How many values an operator takes.
    var inWords: String {
        let count: String =
            if lowerBound == upperBound {
                "\(lowerBound)"
            } else if upperBound == .max {
                "at least \(lowerBound)"
            } else {
                "\(lowerBound) to \(upperBound)"
            }
        return count + (count == "1" || count == "at least 1" ? " value" : " values")
    }
}
