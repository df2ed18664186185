import BusJSON

/// `throw`: fails with an error of one's own. An object is the error itself, anything else the error's `type`.
final class ThrowNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        switch try operand.value(&evaluation) {
        case .object(let error): throw .thrown(error)
        case let type: throw .thrown(["type": .string(try evaluation.text(of: type))])
        }
    }
}

/// `try`: the first operand that does not fail. Each operand but the first sees the error before it as its data.
/// Where all fail, the last error stays; a used-up budget ends everything.
final class TryNode: ExpressionNode, @unchecked Sendable {
    let first: ExpressionNode
    let others: [Evaluation.Body]

    init(_ first: ExpressionNode, _ others: [Evaluation.Body]) {
        self.first = first
        self.others = others
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var failure: EvaluationFailure
        do throws(EvaluationFailure) {
            return try first.value(&evaluation)
        } catch {
            failure = error
        }
        for other in others {
            guard let error = failure.error else { break }
            do throws(EvaluationFailure) {
                return try value(of: other, on: .object(error), &evaluation)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private func value(
        of body: Evaluation.Body, on error: JSON, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> JSON {
        let outer = evaluation.enter(body)
        defer { evaluation.leave(body, to: outer) }
        evaluation.element = error
        return try body.node.value(&evaluation)
    }
}
