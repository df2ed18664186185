import BusCEL
import BusJSON
import BusProtocol
import BusSource

/// Turns an expression in text into the nodes that JsonLogic is compiled to. What is known of the data is held against what
/// the text does with it: what can't be right is doubted, where somebody reviews, and fails when it is evaluated.
struct TextCompiler {
    /// A value that the expression gave a name.
    struct Local {
        let name: String
        let schema: ValueSchema
    }

    /// What a term became.
    enum Compiled {
        case value(ExpressionNode, ValueSchema)
        /// A value that may be absent.
        case optional(OptionalNode, ValueSchema)
    }

    typealias Value = (node: ExpressionNode, schema: ValueSchema)

    /// Where the text stands.
    let place: Place
    let scope: ExpressionScope
    var base: ExpressionCompiler
    var locals: [Local] = []
    /// Whether a double in the value may be infinite.
    var mayBeInfinite = false
    /// The members of the data that a free-standing expression reads.
    var reads: Set<String> = []
    /// What is doubted.
    private(set) var doubts: [SourceError] = []

    init(_ base: ExpressionCompiler, in scope: ExpressionScope, at place: Place) {
        self.base = base
        self.scope = scope
        self.place = place
        locals = scope.locals
        if case .store = scope.names {
            // No text can write a name that is empty: these are read where the state has no such member.
            locals = Evaluation.namesOfStore.map { _ in Local(name: "", schema: .any) }
        }
    }

    /// A whole expression. `isCondition`: whether it has to be true or false.
    mutating func compile(
        _ text: String, isCondition: Bool, from start: Term.Position = .init(line: 1, column: 1)
    ) throws(SourceError) -> Value {
        defer { for doubt in doubts { base.review?.mistakes.doubt(doubt.message, at: place) } }
        let term: Term
        do throws(TermError) {
            term = try Self.term(text, from: start)
        } catch {
            throw failure(error.message, at: error.position)
        }
        if isCondition { return (try condition(term, for: "a condition"), .boolean) }
        return try finite(term)
    }

    /// What a function takes that is worked out for each store of a view, of one of some kinds.
    mutating func compile(
        _ term: Term, as kinds: ValueKinds, for owner: String
    ) throws(SourceError) -> ExpressionNode {
        defer { for doubt in doubts { base.review?.mistakes.doubt(doubt.message, at: place) } }
        if kinds == .bool { return try condition(term, for: owner) }
        let (node, schema) = try finite(term)
        demand(schema, kinds, owner, term)
        return node
    }

    /// A term whose value holds no double that JSON can't.
    private mutating func finite(_ term: Term) throws(SourceError) -> Value {
        let (node, schema) = try value(term)
        let mayHoldDoubles = !schema.kinds.isDisjoint(with: [.double, .list, .map])
        guard mayBeInfinite, mayHoldDoubles else { return (node, schema) }
        return (ExpressionCompiler.folded(FiniteNode(node), [node], base.constants), schema)
    }

    /// Reads a text that may begin with an equals sign, which means nothing more.
    static func term(
        _ text: String, from start: Term.Position = .init(line: 1, column: 1)
    ) throws(TermError) -> Term {
        guard isMarked(text) else { return try Term(parsing: text, from: start) }
        return try Term(parsing: String(text.dropFirst()), from: .init(line: 1, column: start.column + 1))
    }

    /// Whether a text says by its first character that it is an expression.
    static func isMarked(_ text: String) -> Bool { text.utf8.first == UInt8(ascii: "=") }

    // MARK: Messages

    func failure(_ message: String, at position: Term.Position) -> SourceError {
        SourceError("\(position): \(message)", at: place)
    }

    mutating func doubt(_ message: String, at position: Term.Position) {
        doubts.append(failure(message, at: position))
    }

    /// What can't be right: it is doubted, and fails where it is evaluated all the same.
    mutating func broken(_ message: String, at position: Term.Position) -> Compiled {
        doubt(message, at: position)
        return .value(FailureNode(message.last == "." ? String(message.dropLast()) : message), .any)
    }

    // MARK: Terms

    /// A term whose value is always there.
    mutating func value(_ term: Term) throws(SourceError) -> Value {
        switch try compile(term) {
        case .value(let node, let schema): return (node, schema)
        case .optional:
            throw failure(
                "\(term.brief) is an optional, which may be absent; end it with .orValue(VALUE) or .hasValue().",
                at: term.position)
        }
    }

    /// A term whose value has to be true or false.
    mutating func condition(_ term: Term, for owner: String) throws(SourceError) -> ExpressionNode {
        let (node, schema) = try value(term)
        if !schema.kinds.contains(.bool) {
            doubt(
                "\(owner) needs true or false, and \(term.brief) is \(schema.kinds.phrase).",
                at: term.position)
        }
        return Self.isBoolean(node) ? node : BooleanNode(node, for: owner)
    }

    /// Whether a node's value is always true or false.
    private static func isBoolean(_ node: ExpressionNode) -> Bool {
        switch node {
        case is PredicateNode, is SearchNode, is SingleNode: true
        default: node.constant?.bool != nil
        }
    }

    mutating func compile(_ term: Term) throws(SourceError) -> Compiled {
        switch term.form {
        case .null: return Self.constant(.null)
        case .bool(let flag): return Self.constant(.bool(flag))
        case .int(let number): return Self.constant(.int(number))
        case .double(let number): return Self.constant(.double(number))
        case .text(let text): return Self.constant(.string(text))
        case .name, .member, .index: return try compilePlace(term)
        case .call(let name, let receiver, let arguments):
            return try compileCall(name, on: receiver, arguments, at: term.position)
        case .list(let elements): return try compileList(elements)
        case .map(let entries): return try compileMap(entries)
        case .unary(.not, let operand):
            let node = try condition(operand, for: "!")
            return folded(TruthNode(node, inverted: true), [node], .boolean)
        case .unary(.negative, let operand):
            let (node, schema) = try value(operand)
            demand(schema, .number, "-", operand)
            return folded(StrictNegationNode(node), [node], schema.kinds == .int ? .integer : .number)
        case .binary(let operation, let left, let right):
            return try compileBinary(operation, left, right, at: term.position)
        case .all(let terms): return try compileJunction(terms, "&&", decisive: false)
        case .any(let terms): return try compileJunction(terms, "||", decisive: true)
        case .conditional(let condition, let one, let other):
            return try compileConditional(condition, one, other)
        }
    }

    private static func constant(_ value: JSON) -> Compiled {
        let node = LiteralNode(value)
        return .value(node, .constant(value))
    }

    /// The value itself where a node depends on no data.
    func folded(_ node: ExpressionNode, _ operands: [ExpressionNode], _ schema: ValueSchema) -> Compiled {
        let folded = ExpressionCompiler.folded(node, operands, base.constants)
        return .value(folded, folded.constant.map { .constant($0) } ?? schema)
    }

    private mutating func compileJunction(
        _ terms: [Term], _ symbol: String, decisive: Bool
    ) throws(SourceError) -> Compiled {
        var nodes: [ExpressionNode] = []
        let doubtsOutside = doubts.count
        for term in terms { nodes.append(try condition(term, for: symbol)) }
        if nodes.contains(where: { $0.constant == .bool(decisive) }) {
            // Whatever the others do, it does not count.
            doubts.removeLast(doubts.count - doubtsOutside)
            return Self.constant(.bool(decisive))
        }
        return folded(AbsorbingNode(nodes, decisive: decisive), nodes, .boolean)
    }

    private mutating func compileConditional(
        _ condition: Term, _ one: Term, _ other: Term
    ) throws(SourceError) -> Compiled {
        let condition = try self.condition(condition, for: "?")
        switch (try compile(one), try compile(other)) {
        case (.value(let a, let schema), .value(let b, let otherSchema)):
            return folded(ConditionNode([condition, a, b]), [condition, a, b], schema.union(otherSchema))
        case (.optional(let a, let schema), .optional(let b, let otherSchema)):
            return .optional(OptionalNode(.conditional(condition, a, b)), schema.union(otherSchema))
        default:
            throw failure(
                "only one side of the conditional is an optional; end it with .orValue(VALUE).",
                at: other.position)
        }
    }

    // MARK: Operators

    /// Doubts an operand that is surely of another kind.
    mutating func demand(_ schema: ValueSchema, _ kinds: ValueKinds, _ owner: String, _ term: Term) {
        guard schema.kinds.isDisjoint(with: kinds) else { return }
        doubt(
            "\(owner) needs \(kinds.phrase), and \(term.brief) is \(schema.kinds.phrase).", at: term.position)
    }

    private mutating func compileBinary(
        _ operation: Term.Binary, _ leftTerm: Term, _ rightTerm: Term, at position: Term.Position
    ) throws(SourceError) -> Compiled {
        let (left, leftSchema) = try value(leftTerm)
        let (right, rightSchema) = try value(rightTerm)
        let symbol = operation.rawValue
        switch operation {
        case .equal, .unequal:
            doubtChoice(leftTerm, leftSchema, right)
            doubtChoice(rightTerm, rightSchema, left)
            return folded(
                EqualityNode(left, right, strict: true, inverted: operation == .unequal), [left, right],
                .boolean)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            if !Self.agree(leftSchema, rightSchema, [.number, .text, .bool]) {
                doubt(
                    "\(symbol) can't compare \(leftSchema.kinds.phrase) with \(rightSchema.kinds.phrase).",
                    at: position)
            }
            return folded(StrictOrderNode(Self.relation(operation), left, right), [left, right], .boolean)
        case .isIn:
            demand(rightSchema, [.list, .map], "in", rightTerm)
            return folded(ContainmentNode(left, right), [left, right], .boolean)
        case .sum:
            if !Self.agree(leftSchema, rightSchema, [.number, .text, .list]) {
                doubt(
                    "+ can't add \(rightSchema.kinds.phrase) to \(leftSchema.kinds.phrase)"
                        + (leftSchema.kinds.union(rightSchema.kinds).contains(.text)
                            ? "; write string(…) for the text of a number." : "."),
                    at: position)
            }
            return folded(StrictSumNode(left, right), [left, right], arithmetic(leftSchema, rightSchema))
        case .difference, .product, .quotient, .remainder:
            let wanted: ValueKinds = operation == .remainder ? .int : .number
            demand(leftSchema, wanted, symbol, leftTerm)
            demand(rightSchema, wanted, symbol, rightTerm)
            let schema =
                operation == .remainder ? .integer : arithmetic(leftSchema, rightSchema).narrowed(to: .number)
            let node = StrictArithmeticNode(.init(rawValue: symbol) ?? .difference, left, right)
            return folded(node, [left, right], schema)
        }
    }

    private static func relation(_ operation: Term.Binary) -> OrderNode.Relation {
        switch operation {
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        default: .greaterOrEqual
        }
    }

    /// Whether both may be of one of these groups of kinds.
    private static func agree(_ left: ValueSchema, _ right: ValueSchema, _ groups: [ValueKinds]) -> Bool {
        groups.contains { !left.kinds.isDisjoint(with: $0) && !right.kinds.isDisjoint(with: $0) }
    }

    /// What is known of the sum of two values.
    private mutating func arithmetic(_ left: ValueSchema, _ right: ValueSchema) -> ValueSchema {
        let kinds = left.kinds.union(right.kinds)
        switch kinds {
        case .int: return .integer
        case .text: return .string
        case .list: return .array(of: left.element.union(right.element))
        default:
            mayBeInfinite = true
            return ValueKinds.number.contains(left.kinds) || ValueKinds.number.contains(right.kinds)
                ? .number : .any
        }
    }

    /// Doubts a comparison of something that is one of a few texts with another text.
    private mutating func doubtChoice(_ term: Term, _ schema: ValueSchema, _ other: ExpressionNode) {
        guard case .string(let text)? = other.constant, let choices = schema.choices, choices.count > 1 else {
            return
        }
        let texts = choices.compactMap(\.string)
        guard !texts.contains(where: { UTF8Order.equal($0, text) }) else { return }
        doubt(
            "\(term.brief) is never \(other.constant?.encoded ?? ""); \(suggestion(for: text, among: texts))",
            at: term.position)
    }

    // MARK: Lists and maps

    private mutating func compileList(_ elements: [Term.Element]) throws(SourceError) -> Compiled {
        var parts: [ListNode.Element] = []
        var nodes: [ExpressionNode] = []
        var element: ValueSchema?
        for source in elements {
            let (part, schema) = try self.part(source.value, isOptional: source.isOptional)
            parts.append(part)
            if case .value(let node) = part { nodes.append(node) }
            element = element.map { $0.union(schema) } ?? schema
        }
        let schema = ValueSchema.array(of: element ?? .any)
        guard nodes.count == parts.count else { return .value(ListNode(parts), schema) }
        return folded(ArrayNode(nodes), nodes, schema)
    }

    /// An element or a member's value, with a question mark or without.
    private mutating func part(
        _ term: Term, isOptional: Bool
    ) throws(SourceError) -> (ListNode.Element, ValueSchema) {
        guard isOptional else {
            let (node, schema) = try value(term)
            return (.value(node), schema)
        }
        guard case .optional(let node, let schema) = try compile(term) else {
            throw failure(
                "? needs an optional, and \(term.brief) is always there; leave the ? out.", at: term.position)
        }
        return (.optional(node), schema)
    }

    private mutating func compileMap(_ entries: [Term.Entry]) throws(SourceError) -> Compiled {
        var parts: [(key: ExpressionNode, value: ListNode.Element)] = []
        var members: [(key: String, node: ExpressionNode, schema: ValueSchema)] = []
        for entry in entries {
            let (key, keySchema) = try value(entry.key)
            if !keySchema.kinds.contains(.text) {
                throw failure(
                    "a map's keys are texts, and \(entry.key.brief) is \(keySchema.kinds.phrase); write it in quotes.",
                    at: entry.key.position)
            }
            let (part, schema) = try self.part(entry.value, isOptional: entry.isOptional)
            parts.append((key, part))
            guard case .string(let name)? = key.constant, case .value(let node) = part else { continue }
            if members.contains(where: { UTF8Order.equal($0.key, name) }) {
                throw failure(
                    "the map has the key \(entry.key) twice; keep one of them.", at: entry.key.position)
            }
            members.append((name, node, schema))
        }
        guard members.count == parts.count else { return .value(KeyedNode(parts), .object) }
        members.sort { UTF8Order.precedes($0.key, $1.key) }
        var words = ValueSchema.Words(.object)
        words.properties = members.map { .init(name: $0.key, schema: $0.schema, isRequired: true) }
        let nodes = members.map(\.node)
        return folded(ObjectNode(keys: members.map(\.key), values: nodes), nodes, ValueSchema(words))
    }
}

extension Term {
    /// Its text, as far as a message quotes.
    var brief: String { description.shortened(to: 60) }
}
