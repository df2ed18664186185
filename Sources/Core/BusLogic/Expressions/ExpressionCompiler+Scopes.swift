import BusJSON
import BusProtocol
import BusSource

/// The operators with parts that see data of their own: iterations, and `try`.
extension ExpressionCompiler {
    /// Compiles a part that has data of its own.
    private mutating func body(
        _ source: LocatedValue, in scope: ExpressionScope
    ) throws(SourceError) -> Evaluation.Body {
        let outer = climbs
        climbs = false
        let node = try compile(source, in: scope)
        let body = Evaluation.Body(node: node, climbs: climbs)
        climbs = climbs || outer
        return body
    }

    mutating func compileIteration(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let name = operation.name
        if name == "sort" { return try compileSort(operation, in: scope) }
        try operation.expect(name == "reduce" ? 2...3 : 2...2)
        if name != "reduce" { try operation.expectValue(at: 0) }
        if ["map", "filter", "group"].contains(name) { try operation.expectValue(at: 1) }
        let operands = operation.operands
        let list = try compile(operands[0], in: scope)
        let inside = scope.inside(name == "reduce" ? .reduction : .element, isIteration: true)
        let body = try body(operands[1], in: inside)
        switch name {
        case "map": return MapNode(list, body)
        case "filter": return FilterNode(list, body)
        case "all": return QuantifierNode(.all, list, body)
        case "some": return QuantifierNode(.some, list, body)
        case "none": return QuantifierNode(.none, list, body)
        case "group": return GroupNode(list, body)
        default:
            let start = operands.count > 2 ? try compile(operands[2], in: scope) : LiteralNode(.null)
            return ReductionNode(list, body, start: start)
        }
    }

    private mutating func compileSort(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        try operation.expect(1...3)
        let operands = operation.operands
        let list = try compile(operands[0], in: scope)
        var key: Evaluation.Body?
        if operands.count > 1, operands[1].json != .null {
            key = try body(operands[1], in: scope.inside(.element, isIteration: true))
        }
        guard operands.count > 2 else { return SortNode(list, by: key, .ascending) }
        let names = SortNode.Direction.allCases.map(\.rawValue)
        guard case .scalar(.string(let name)) = operands[2].content,
            let direction = SortNode.Direction(rawValue: name)
        else {
            throw SourceError(
                "The third value of sort is \(names.joined(separator: " or ")).", at: operation.place)
        }
        return SortNode(list, by: key, direction)
    }

    mutating func compileTry(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        try operation.expect(1...Int.max)
        let operands = operation.operands
        let first = try compile(operands[0], in: scope)
        var others: [Evaluation.Body] = []
        let inside = scope.inside(.element, isIteration: false)
        for operand in operands.dropFirst() { others.append(try body(operand, in: inside)) }
        return TryNode(first, others)
    }
}
