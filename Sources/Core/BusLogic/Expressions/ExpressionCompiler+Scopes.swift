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
        try operation.expect(name == "reduce" ? 2...3 : 2...2)
        if name != "reduce" { try operation.expectValue(at: 0) }
        if ["map", "filter"].contains(name) { try operation.expectValue(at: 1) }
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
        default:
            let start = operands.count > 2 ? try compile(operands[2], in: scope) : LiteralNode(.null)
            return ReductionNode(list, body, start: start)
        }
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
