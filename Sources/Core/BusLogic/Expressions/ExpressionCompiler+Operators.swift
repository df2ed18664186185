import BusJSON
import BusProtocol
import BusSource

/// The operators by their names.
extension ExpressionCompiler {
    static let operators = [
        "var", "val", "missing", "missing_some", "if", "?:", "==", "===", "!=", "!==", "!", "!!", "or", "and",
        ">", ">=", "<", "<=", "max", "min", "+", "-", "*", "/", "%", "map", "reduce", "filter", "all", "none",
        "some", "merge", "in", "cat", "substr", "log", "literal", "object",
    ]

    mutating func compile(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        switch operation.name {
        case "var": return try compileVar(operation, in: scope)
        case "val": return try compileVal(operation, in: scope)
        case "missing", "missing_some": return try compileMissing(operation, in: scope)
        case "map", "filter", "all", "some", "none", "reduce":
            return try compileIteration(operation, in: scope)
        case "literal": return LiteralNode(operation.argument.json)
        case "object": return try build(operation.argument.object("what object is given"), in: scope)
        default: break
        }
        guard Self.operators.contains(where: { UTF8Order.equal($0, operation.name) }) else {
            throw unknown(operation)
        }
        let nodes = try compile(operation.operands, in: scope)
        return Self.folded(try node(operation, nodes), nodes)
    }

    /// The operators that evaluate all operands in the same scope.
    private func node(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        switch operation.name {
        case "if", "?:": return ConditionNode(nodes)
        case "and", "or": return JunctionNode(nodes, decisive: operation.name == "or")
        case "!", "!!":
            try operation.expect(0...1)
            return TruthNode(nodes.first ?? LiteralNode(.null), inverted: operation.name == "!")
        case "==", "===", "!=", "!==":
            try operation.expect(2...2)
            let strict = operation.name.utf8.count == 3
            let inverted = operation.name.hasPrefix("!")
            return EqualityNode(nodes[0], nodes[1], strict: strict, inverted: inverted)
        case "<", "<=", ">", ">=": return try orderNode(operation, nodes)
        case "in":
            try operation.expect(2...2)
            return MembershipNode(nodes[0], nodes[1])
        case "cat": return ConcatenationNode(nodes)
        case "substr":
            try operation.expect(2...3)
            return SubstringNode(nodes[0], nodes[1], nodes.count > 2 ? nodes[2] : nil)
        case "merge": return MergeNode(nodes)
        case "log":
            try operation.expect(0...1)
            return PassNode(nodes.first ?? LiteralNode(.null))
        default: return try arithmeticNode(operation, nodes)
        }
    }

    private func orderNode(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        let relation: OrderNode.Relation
        switch operation.name {
        case "<": relation = .less
        case "<=": relation = .lessOrEqual
        case ">": relation = .greater
        default: relation = .greaterOrEqual
        }
        try operation.expect(operation.name.hasPrefix("<") ? 2...3 : 2...2)
        return OrderNode(relation, nodes[0], nodes[1], nodes.count > 2 ? nodes[2] : nil)
    }

    private func arithmeticNode(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        switch operation.name {
        case "+": return SumNode(nodes)
        case "*":
            try operation.expect(1...Int.max)
            return ProductNode(nodes)
        case "-":
            try operation.expect(1...2)
            if nodes.count == 1 { return NegationNode(nodes[0]) }
            return BinaryNode(.difference, nodes[0], nodes[1])
        case "/":
            try operation.expect(2...2)
            return BinaryNode(.quotient, nodes[0], nodes[1])
        case "%":
            try operation.expect(2...2)
            return BinaryNode(.remainder, nodes[0], nodes[1])
        case "max", "min":
            try operation.expect(1...Int.max)
            return ExtremeNode(nodes, largest: operation.name == "max")
        default: throw unknown(operation)
        }
    }

    private mutating func compileIteration(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let isReduction = operation.name == "reduce"
        try operation.expect(isReduction ? 2...3 : 2...2)
        let operands = operation.operands
        let list = try compile(operands[0], in: scope)
        let body = try compile(operands[1], in: isReduction ? .reduction : .element)
        switch operation.name {
        case "map": return MapNode(list, body)
        case "filter": return FilterNode(list, body)
        case "all": return QuantifierNode(list, body, decisive: false, decided: false, empty: false)
        case "some": return QuantifierNode(list, body, decisive: true, decided: true, empty: false)
        case "none": return QuantifierNode(list, body, decisive: true, decided: false, empty: true)
        default:
            let start = operands.count > 2 ? try compile(operands[2], in: scope) : LiteralNode(.null)
            return ReductionNode(list, body, start: start)
        }
    }

    private func unknown(_ operation: Operation) -> SourceError {
        let hint = suggestion(for: operation.name, among: Self.operators)
        return SourceError(
            "\(operation.name) is no operator; \(hint) "
                + "An object with this one member is written {object: {\(operation.name): …}}, "
                + "plain data {literal: …}.",
            at: operation.place)
    }
}
