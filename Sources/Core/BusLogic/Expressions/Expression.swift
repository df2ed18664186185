import BusJSON
import BusSource

/// A compiled expression over any data, JsonLogic or text: the condition of `fluxbus wait`.
package struct Expression: Sendable {
    /// The names of all operators.
    package static let operators = ExpressionCompiler.operators

    /// The names of all functions and macros of expressions in text.
    package static let functions = TextCompiler.callNames

    let node: ExpressionNode
    /// The members of the data that an expression in text reads; of one in JsonLogic none.
    package let reads: Set<String>
    /// What one about a store reads of its state.
    package let stateReads: StateReads

    /// What the constants in it take in memory, in bytes, beyond what its source says.
    package let constantBytes: Int

    private init(_ node: ExpressionNode, by compiler: ExpressionCompiler, reads: Set<String> = []) {
        self.node = node
        self.reads = reads
        stateReads = compiler.reads
        constantBytes = compiler.constants.bytes
    }

    /// Compiles an expression; `name` is what messages call its source.
    package static func compile(_ json: JSON, name: String = "expression") throws(SourceError) -> Expression {
        try compile(LocatedValue(json, name: name))
    }

    /// Compiles an expression that knows its place in a file.
    package static func compile(_ source: LocatedValue) throws(SourceError) -> Expression {
        var compiler = ExpressionCompiler()
        return Expression(try compiler.compile(source, in: .freeStanding), by: compiler)
    }

    /// What the members of the data are called by expressions in text.
    package enum Names: Sendable {
        /// By their names.
        case members
        /// By their names; the whole is `state`.
        case state
        /// By these names, and there are no others; those of `texts` are texts.
        case only([String], texts: [String] = [])
        /// The data is a store's state, called as in `state`; `store` is its address, and `meta` has the time and the
        /// revision.
        case store
    }

    /// Compiles a client's condition on a store, the member `name` of its request: an expression in text, or in JsonLogic where
    /// it is an object.
    package static func compile(condition: JSON, name: String) throws(SourceError) -> Expression {
        if case .string(let text) = condition {
            return try compile(text: text, isCondition: true, names: .store)
        }
        var compiler = ExpressionCompiler()
        let node = try compiler.compile(
            LocatedValue(condition, name: name), in: ExpressionScope(data: .element, names: .store))
        return Expression(node, by: compiler)
    }

    /// Compiles an expression in text, of the Common Expression Language. `isCondition`: it has to be true or false.
    ///
    /// - Parameter isLenient: Whether what is sure to fail compiles all the same, and fails when evaluated.
    package static func compile(
        text: String, isCondition: Bool = false, names: Names = .state, isLenient: Bool = false,
        at place: Place = Place(file: "expression", line: 0, column: 0)
    ) throws(SourceError) -> Expression {
        let scope = ExpressionScope(data: .element, names: names)
        var compiler = TextCompiler(ExpressionCompiler(), in: scope, at: place)
        let node = try compiler.compile(text, isCondition: isCondition).node
        if !isLenient, let doubt = compiler.doubts.first { throw doubt }
        return Expression(node, by: compiler.base, reads: compiler.reads)
    }

    /// Its value, where that is the same whatever the data.
    package var constant: JSON? { node.constant }

    /// Whether it is a constant that is false, and so holds for no data.
    package var neverHolds: Bool { constant.map { !$0.isTruthy } ?? false }

    /// The expression's value for some data.
    package func evaluate(
        on data: JSON, budget: Budget = .ofStore
    ) throws(EvaluationFailure) -> JSON {
        var evaluation = Evaluation(budget: budget)
        evaluation.element = data
        return try node.value(&evaluation)
    }

    /// Whether it holds, false if it fails; spends `budget`.
    package func holds(on data: JSON, spending budget: inout Budget) -> Bool {
        var evaluation = Evaluation(budget: budget)
        evaluation.element = data
        let value = try? node.value(&evaluation)
        budget.leave(evaluation)
        return value?.isTruthy ?? false
    }

    /// Whether a client's condition holds for the state of a store, and the budget is left with what was not spent. Throws
    /// where it has no value.
    package func holds(
        on state: JSONObject, of store: String, _ meta: JSON, spending budget: inout Budget
    ) throws(EvaluationFailure) -> Bool {
        var evaluation = Evaluation(budget: budget)
        evaluation.element = .object(state)
        evaluation.locals = [.string(store), meta]
        defer { budget.leave(evaluation) }
        return try node.value(&evaluation).isTruthy
    }

    /// Whether the expression's value for some data counts as true.
    package func holds(on data: JSON, budget: Budget = .ofStore) throws(EvaluationFailure) -> Bool {
        try evaluate(on: data, budget: budget).isTruthy
    }
}

extension Budget {
    /// Leaves what an evaluation that was given all of it has not spent.
    fileprivate mutating func leave(_ evaluation: borrowing Evaluation) {
        operations = max(0, evaluation.operations)
        bytes = max(0, evaluation.bytes)
        reading = max(0, evaluation.reading)
    }
}
