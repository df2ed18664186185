import BusJSON

/// The operators that go through an array. Inside, `var` and `val` see the element; `val` climbs from there.
class IterationNode: ExpressionNode, @unchecked Sendable {
    let list: ExpressionNode
    let body: Evaluation.Body

    init(_ list: ExpressionNode, _ body: Evaluation.Body) {
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
        let outer = evaluation.enter(body)
        defer { evaluation.leave(body, to: outer) }
        var results: [JSON] = []
        for (index, element) in elements.enumerated() {
            try evaluation.visit(element, at: index)
            let result = try body.node.value(&evaluation)
            try evaluation.produce(element: result)
            results.append(result)
        }
        return .array(results)
    }
}

final class FilterNode: IterationNode, @unchecked Sendable {
    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        guard let elements = try elements(&evaluation) else { return .array([]) }
        let outer = evaluation.enter(body)
        defer { evaluation.leave(body, to: outer) }
        var results: [JSON] = []
        for (index, element) in elements.enumerated() {
            try evaluation.visit(element, at: index)
            guard try body.node.truth(&evaluation) else { continue }
            try evaluation.keepElement()
            results.append(element)
        }
        return .array(results)
    }
}

/// `all`, `some` and `none`: they stop at the first element that decides.
final class QuantifierNode: IterationNode, @unchecked Sendable {
    enum Operation: String {
        case all, some, none
    }

    let operation: Operation

    init(_ operation: Operation, _ list: ExpressionNode, _ body: Evaluation.Body) {
        self.operation = operation
        super.init(list, body)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        let elements = try Evaluation.elements(of: list.value(&evaluation), for: operation.rawValue)
        // What the first deciding element says, and the result when one decides.
        let decisive = operation != .all
        let decided = operation == .some
        if elements.isEmpty { return operation == .none }
        let outer = evaluation.enter(body)
        defer { evaluation.leave(body, to: outer) }
        for (index, element) in elements.enumerated() {
            try evaluation.visit(element, at: index)
            if try body.node.truth(&evaluation) == decisive { return decided }
        }
        return !decided
    }
}

final class ReductionNode: IterationNode, @unchecked Sendable {
    let start: ExpressionNode

    init(_ list: ExpressionNode, _ body: Evaluation.Body, start: ExpressionNode) {
        self.start = start
        super.init(list, body)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        let elements = try elements(&evaluation)
        let start = try start.value(&evaluation)
        guard let elements else { return start }
        let outer = evaluation.enter(body)
        defer { evaluation.leave(body, to: outer) }
        evaluation.accumulator = start
        for (index, element) in elements.enumerated() {
            try evaluation.visit(element, at: index)
            evaluation.accumulator = try body.node.value(&evaluation)
        }
        return evaluation.accumulator
    }
}

extension Evaluation {
    /// The elements of an array that an operator needs; anything else fails.
    static func elements(of value: JSON, for operation: String) throws(EvaluationFailure) -> [JSON] {
        guard case .array(let elements) = value else {
            throw .invalidArguments(
                operation: operation, reason: "needs an array and was given \(value.kind)")
        }
        return elements
    }
}
