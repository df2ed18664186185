import BusJSON

/// The operators that go through an array. Inside, `var` and `val` see the element and nothing else.
class IterationNode: ExpressionNode, @unchecked Sendable {
    let list: ExpressionNode
    let body: ExpressionNode

    init(_ list: ExpressionNode, _ body: ExpressionNode) {
        self.list = list
        self.body = body
    }

    /// The elements to go through; nil when there is no array.
    @inline(__always)
    final func elements(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> [JSON]? {
        try evaluation.spend()
        if case .array(let elements) = try list.value(&evaluation) { return elements }
        return nil
    }
}

final class MapNode: IterationNode, @unchecked Sendable {
    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        guard let elements = try elements(&evaluation) else { return .array([]) }
        let outer = evaluation.element
        defer { evaluation.element = outer }
        var results: [JSON] = []
        for element in elements {
            try evaluation.spend()
            evaluation.element = element
            let result = try body.value(&evaluation)
            try evaluation.produce(element: result)
            results.append(result)
        }
        return .array(results)
    }
}

final class FilterNode: IterationNode, @unchecked Sendable {
    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        guard let elements = try elements(&evaluation) else { return .array([]) }
        let outer = evaluation.element
        defer { evaluation.element = outer }
        var results: [JSON] = []
        for element in elements {
            try evaluation.spend()
            evaluation.element = element
            guard try body.truth(&evaluation) else { continue }
            // What is inside the element is not made anew, and no element can come twice.
            try evaluation.produce(16)
            results.append(element)
        }
        return .array(results)
    }
}

/// `all`, `some` and `none`: they stop at the first element that decides.
final class QuantifierNode: IterationNode, @unchecked Sendable {
    /// What the first deciding element says: false for `all`, true for `some` and `none`.
    let decisive: Bool
    /// The result when an element decides, when none does, and when there is no element.
    let decided: Bool
    let empty: Bool

    init(_ list: ExpressionNode, _ body: ExpressionNode, decisive: Bool, decided: Bool, empty: Bool) {
        self.decisive = decisive
        self.decided = decided
        self.empty = empty
        super.init(list, body)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        guard let elements = try elements(&evaluation), !elements.isEmpty else { return empty }
        let outer = evaluation.element
        defer { evaluation.element = outer }
        for element in elements {
            try evaluation.spend()
            evaluation.element = element
            if try body.truth(&evaluation) == decisive { return decided }
        }
        return !decided
    }
}

final class ReductionNode: IterationNode, @unchecked Sendable {
    let start: ExpressionNode

    init(_ list: ExpressionNode, _ body: ExpressionNode, start: ExpressionNode) {
        self.start = start
        super.init(list, body)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        let elements = try elements(&evaluation)
        let start = try start.value(&evaluation)
        guard let elements else { return start }
        let outer = (evaluation.element, evaluation.accumulator)
        defer { (evaluation.element, evaluation.accumulator) = outer }
        evaluation.accumulator = start
        for element in elements {
            try evaluation.spend()
            evaluation.element = element
            evaluation.accumulator = try body.value(&evaluation)
        }
        return evaluation.accumulator
    }
}
