import BusJSON
import BusSource

/// A JsonLogic expression over any data, compiled: what `fluxbus wait` holds states against.
package struct Expression: Sendable {
    /// The names of all operators.
    package static let operators = ExpressionCompiler.operators

    private let node: ExpressionNode

    /// Compiles an expression; `name` is what messages call its source.
    package static func compile(_ json: JSON, name: String = "expression") throws(SourceError) -> Expression {
        try compile(LocatedValue(json, name: name))
    }

    /// Compiles an expression that knows its place in a file.
    package static func compile(_ source: LocatedValue) throws(SourceError) -> Expression {
        var compiler = ExpressionCompiler()
        return Expression(node: try compiler.compile(source, in: .freeStanding))
    }

    /// Its value, where that is the same whatever the data.
    package var constant: JSON? { node.constant }

    /// The expression's value for some data.
    package func evaluate(
        on data: JSON, budget: Budget = .ofStore
    ) throws(EvaluationFailure) -> JSON {
        var evaluation = Evaluation(budget: budget)
        evaluation.element = data
        return try node.value(&evaluation)
    }

    /// The same, and the budget is left with what was not spent.
    package func holds(on data: JSON, spending budget: inout Budget) -> Bool {
        var evaluation = Evaluation(budget: budget)
        evaluation.element = data
        let value = try? node.value(&evaluation)
        budget = Budget(
            operations: max(0, evaluation.operations), bytes: max(0, evaluation.bytes),
            reading: max(0, evaluation.reading))
        return value?.isTruthy ?? false
    }

    /// Whether the expression's value for some data counts as true.
    package func holds(on data: JSON, budget: Budget = .ofStore) throws(EvaluationFailure) -> Bool {
        try evaluate(on: data, budget: budget).isTruthy
    }
}
