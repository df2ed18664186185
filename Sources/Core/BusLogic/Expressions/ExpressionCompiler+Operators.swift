import BusJSON
import BusProtocol
import BusSource

/// Compiles operators by name.
extension ExpressionCompiler {
    static let operators = [
        "var", "val", "exists", "missing", "missing_some", "if", "?:", "==", "===", "!=", "!==", "!", "!!",
        "or",
        "and", "??", "try", "throw", ">", ">=", "<", "<=", "max", "min", "+", "-", "*", "/", "%", "round",
        "floor", "ceil", "abs", "map", "reduce", "filter", "all", "none", "some", "sort", "group", "merge",
        "length", "keys", "values", "entries", "in", "cat", "substr", "split", "join", "lower", "upper",
        "trim",
        "replace", "duration", "format", "log", "literal", "preserve", "object",
    ]

    mutating func compile(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let readsTextOutside = readsText
        // What `object` holds is built like any other object.
        if operation.name != "object" { readsText = false }
        defer { readsText = readsTextOutside }
        switch operation.name {
        case "var": return try compileVar(operation, in: scope)
        case "val": return try place(operation, in: scope)
        case "exists": return ExistenceNode(try place(operation, in: scope))
        case "missing", "missing_some": return try compileMissing(operation, in: scope)
        case "map", "filter", "all", "some", "none", "reduce", "sort", "group":
            return try compileIteration(operation, in: scope)
        case "try": return try compileTry(operation, in: scope)
        case "literal", "preserve": return LiteralNode(operation.argument.json)
        case "object": return try build(operation.argument.object("what object is given"), in: scope)
        default: break
        }
        guard Self.operators.contains(where: { UTF8Order.equal($0, operation.name) }) else {
            throw unknown(operation)
        }
        if let chained = try chainedNode(operation, in: scope) { return chained }
        let nodes = try compile(operation.operands, in: scope)
        return Self.folded(try node(operation, nodes), nodes, constants)
    }

    /// The operators that evaluate all operands in the same scope.
    private func node(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        switch operation.name {
        case "if", "?:":
            try operation.expectArray()
            return ConditionNode(nodes)
        case "and", "or":
            try operation.expectArray()
            return JunctionNode(nodes, decisive: operation.name == "or")
        case "??": return CoalescingNode(nodes)
        case "throw":
            try operation.expect(1...1)
            return ThrowNode(nodes[0])
        case "!", "!!":
            try operation.expect(0...1)
            return TruthNode(nodes.first ?? LiteralNode(.null), inverted: operation.name == "!")
        case "==", "===", "!=", "!==": return try equalityNode(operation, nodes)
        case "<", "<=", ">", ">=": return try orderNode(operation, nodes)
        case "in":
            try operation.expect(2...2)
            return MembershipNode(nodes[0], nodes[1])
        case "substr":
            try operation.expect(2...3)
            return SubstringNode(nodes[0], nodes[1], nodes.count > 2 ? nodes[2] : nil)
        case "merge": return MergeNode(nodes)
        case "log":
            try operation.expect(0...1)
            return PassNode(nodes.first ?? LiteralNode(.null))
        default: break
        }
        if let counts = Self.counts(of: operation.name) {
            try operation.expect(counts)
            return Self.listNode(operation.name, nodes)
        }
        if let node = try valueNode(operation, nodes) { return node }
        throw unknown(operation)
    }

    private func equalityNode(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        try operation.expect(2...Int.max)
        let strict = operation.name.utf8.count == 3
        let inverted = operation.name.hasPrefix("!")
        if nodes.count > 2 { return ChainNode(.equality(strict: strict, inverted: inverted), nodes) }
        return EqualityNode(nodes[0], nodes[1], strict: strict, inverted: inverted)
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
        try operation.expect(2...Int.max)
        if nodes.count > 3 { return ChainNode(.order(relation), nodes) }
        return OrderNode(relation, nodes[0], nodes[1], nodes.count > 2 ? nodes[2] : nil)
    }

    /// Names of operators in other languages.
    private static let otherNames = [
        "=": "==", "<>": "!=", "=<": "<=", "=>": ">=", "eq": "==", "equals": "==", "ne": "!=", "gt": ">",
        "gte": ">=", "lt": "<", "lte": "<=", "not": "!", "&&": "and", "||": "or", "&": "and", "|": "or",
        "concat": "cat", "count": "length", "size": "length", "len": "length", "contains": "in", "mod": "%",
        "add": "+", "get": "var", "ref": "var", "else": "if", "then": "if",
    ]

    func unknown(_ operation: Operation) -> SourceError {
        if readsText, operation.argument.isNull, operation.name.contains(".") {
            return SourceError(
                "Braces make an object of \(operation.name); write = \(operation.name), without them.",
                at: operation.place)
        }
        let hint =
            Self.otherNames[operation.name].map { "did you mean `\($0)`?" }
            ?? suggestion(for: operation.name, among: Self.operators)
        return SourceError(
            "\(operation.name) is not an operator; \(hint) "
                + "An object with this one member is written {object: {\(operation.name): …}}, "
                + "plain data {literal: …}.",
            at: operation.place)
    }
}

/// The operators that take a list of operands, which may also be the value of one expression.
extension ExpressionCompiler {
    /// How many operands such an operator takes; nil for any other.
    private static func counts(of name: String) -> ClosedRange<Int>? {
        switch name {
        case "+", "*", "cat": 0...Int.max
        case "-", "/", "max", "min": 1...Int.max
        case "%": 2...Int.max
        default: nil
        }
    }

    /// The operation on a list of operands, whose number `counts` allows.
    private static func listNode(_ name: String, _ nodes: [ExpressionNode]) -> ExpressionNode {
        switch name {
        case "+": SumNode(nodes)
        case "*": ProductNode(nodes)
        case "-":
            nodes.count == 1 ? NegationNode(nodes[0]) : differenceNode(.difference, nodes)
        case "/": differenceNode(.quotient, nodes)
        case "%": differenceNode(.remainder, nodes)
        case "max", "min": ExtremeNode(nodes, largest: name == "max")
        default: ConcatenationNode(nodes)
        }
    }

    private static func differenceNode(
        _ operation: BinaryNode.Operation, _ nodes: [ExpressionNode]
    ) -> ExpressionNode {
        nodes.count == 2 ? BinaryNode(operation, nodes[0], nodes[1]) : FoldNode(operation, nodes)
    }

    /// The operation whose list of operands is the value of one expression; nil where the operands are listed, and for other
    /// operators.
    private mutating func chainedNode(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode? {
        guard let counts = Self.counts(of: operation.name),
            case .object(let object) = operation.argument.content, object.count == 1
        else { return nil }
        let name = operation.name
        let argument = try compile(operation.argument, in: scope)
        let chained = ChainedNode(name, argument, counts: counts) { Self.listNode(name, $0) }
        return Self.folded(chained, [argument], constants)
    }
}
