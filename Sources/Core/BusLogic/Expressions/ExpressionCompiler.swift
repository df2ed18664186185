import BusCEL
import BusJSON
import BusSource

/// Turns JsonLogic into a tree of operations. Everything that can be known beforehand is done here, once:
/// operators are looked up, places that are known are found, and what depends on no data is worked out.
struct ExpressionCompiler {
    /// What the expressions compiled so far read of the state.
    private(set) var reads = StateReads()
    /// Whether something that was compiled gives values names.
    var hasLocals = false
    /// What `let` gives names; nil where a type has none.
    var named: NamedExpressions?
    /// Whether something that was compiled climbs to data that has to be kept for it.
    var climbs = false
    /// What reads and texts are held against, and where mistakes go; without one the first is thrown.
    var review: ExpressionReview?
    /// Whether a text that begins with an equals sign is an expression. In JsonLogic's own operations it never is.
    var readsText = false
    /// Whether one was.
    private(set) var hasText = false

    /// What constants take in memory that were worked out from others: a short text may have long ones.
    final class Constants {
        fileprivate(set) var bytes = 0
    }
    let constants = Constants()
    /// What a value takes for each byte that it has when encoded, at most: a digit and a comma are an element of 16 bytes.
    private static let memoryPerByte = 8

    /// Compiles one expression. An object with one member is an operation, any other is built member by
    /// member, an array element by element; everything else is itself.
    mutating func compile(
        _ source: LocatedValue, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        switch source.content {
        case .scalar(let value):
            if case .string(let text) = value {
                if readsText, TextCompiler.isMarked(text) {
                    return try compile(text: text, isCondition: false, in: scope, at: source.place)
                }
                review?.check(text: text, at: source.place)
            }
            return LiteralNode(value)
        case .array(let elements):
            let nodes = try compile(elements, in: scope)
            return Self.folded(ArrayNode(nodes), nodes, constants)
        case .object(let object):
            if object.count == 1, !isBuilt(object) {
                let member = object.members[0]
                let operation = Operation(
                    name: member.key, place: member.place, argument: member.value, owner: object)
                return try compile(operation, in: scope)
            }
            review?.check(object: object)
            return try build(object, in: scope)
        }
    }

    /// Compiles what has to be an expression, so that a text is one without an equals sign, too.
    mutating func compile(
        expression source: LocatedValue, isCondition: Bool = false, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        guard readsText, case .scalar(.string(let text)) = source.content else {
            return try compile(source, in: scope)
        }
        return try compile(text: text, isCondition: isCondition, in: scope, at: source.place)
    }

    private mutating func compile(
        text: String, isCondition: Bool, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> ExpressionNode {
        hasText = true
        var compiler = TextCompiler(self, in: scope, at: place)
        let (node, schema) = try compiler.compile(text, isCondition: isCondition)
        self = compiler.base
        review?.know(node, schema)
        return node
    }

    /// Compiles the expression that a part of a path is; nil where texts are none. `column` is where its text begins in that of
    /// the path.
    mutating func compile(
        segment text: String, at column: Int, in scope: ExpressionScope, _ place: Place
    ) throws(SourceError) -> ExpressionNode? {
        guard readsText else { return nil }
        let (node, schema) = try compile(part: text, from: column, in: scope, at: place)
        guard schema.kinds.isDisjoint(with: [.text, .int]) else { return node }
        throw TextCompiler(self, in: scope, at: place).failure(
            "a part of a path is a text or an integer, and this is \(schema.kinds.phrase).",
            at: .init(line: 1, column: column))
    }

    /// Compiles an expression that is a part of a text, from a column of it on, and says what is known of its value.
    mutating func compile(
        part text: String, from column: Int, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> TextCompiler.Value {
        hasText = true
        var compiler = TextCompiler(self, in: scope, at: place)
        let value = try compiler.compile(text, isCondition: false, from: .init(line: 1, column: column))
        self = compiler.base
        return value
    }

    /// Compiles what a function of a view takes, of one of some kinds.
    mutating func compile(
        _ term: Term, as kinds: ValueKinds, for owner: String, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> ExpressionNode {
        hasText = true
        var compiler = TextCompiler(self, in: scope, at: place)
        let node = try compiler.compile(term, as: kinds, for: owner)
        self = compiler.base
        return node
    }

    /// Whether the one member of an object is no operator but the name of an expression in text.
    private func isBuilt(_ object: LocatedObject) -> Bool {
        guard readsText, case .scalar(.string(let text)) = object.members[0].value.content else {
            return false
        }
        return TextCompiler.isMarked(text) && !Self.operators.contains(object.members[0].key)
    }

    mutating func compile(
        _ sources: [LocatedValue], in scope: ExpressionScope
    ) throws(SourceError) -> [ExpressionNode] {
        var nodes: [ExpressionNode] = []
        for source in sources {
            do throws(SourceError) {
                nodes.append(try compile(source, in: scope))
            } catch {
                // Where mistakes are collected, the operands behind this one are looked at, too.
                guard let review else { throw error }
                review.mistakes.add(error)
                nodes.append(BrokenNode())
            }
        }
        return nodes
    }

    /// Compiles what names a place: a text is a name then, and no value.
    mutating func compileName(
        _ source: LocatedValue, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        switch source.content {
        case .scalar(let name): return LiteralNode(name)
        case .array(let elements)
        where elements.allSatisfy({ if case .scalar = $0.content { true } else { false } }):
            return LiteralNode(source.json)
        default: return try compile(source, in: scope)
        }
    }

    mutating func compileNames(
        _ sources: [LocatedValue], in scope: ExpressionScope
    ) throws(SourceError) -> [ExpressionNode] {
        var nodes: [ExpressionNode] = []
        for source in sources { nodes.append(try compileName(source, in: scope)) }
        return nodes
    }

    /// An object whose members are expressions.
    mutating func build(
        _ object: LocatedObject, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let members = object.members.sorted { UTF8Order.precedes($0.key, $1.key) }
        let nodes = try compile(members.map(\.value), in: scope)
        return Self.folded(ObjectNode(keys: members.map(\.key), values: nodes), nodes, constants)
    }

    /// What a name of `let` stands for, below so many named values of an expression; nil where nothing has the name.
    mutating func value(
        named name: String, in scope: ExpressionScope, depth: Int
    ) throws(SourceError) -> NamedExpressions.Value? {
        try named?.value(of: name, in: scope, depth: depth, &reads)
    }

    /// Remembers that the expression reads a member of the state; nil: any.
    mutating func note(read name: String?) {
        if let name { reads.insert(name) } else { reads.everything = true }
    }

    /// Remembers a member instead of what was read since.
    mutating func narrow(to name: String, since before: StateReads, in scope: ExpressionScope) {
        reads = before
        if scope.isStore { note(read: ["state", name]) } else { note(read: name) }
    }

    /// The same of a client's expression about a store.
    mutating func note(read keys: [String]) { reads.insert(keys) }

    /// The value itself instead of an operation whose operands are all constant. What can't be worked out, or
    /// not cheaply, is left to fail when it is evaluated.
    ///
    /// Of no compiler: each would be copied to the stack once more for every level of nested expressions.
    static func folded(
        _ node: ExpressionNode, _ operands: [ExpressionNode], _ constants: Constants
    ) -> ExpressionNode {
        guard operands.allSatisfy({ $0.constant != nil }) else { return node }
        var evaluation = Evaluation(budget: Budget(operations: 10_000, bytes: 1 << 16))
        do throws(EvaluationFailure) {
            let value = try node.value(&evaluation)
            constants.bytes += memoryPerByte * value.encodedSize
            return LiteralNode(value)
        } catch {
            return node
        }
    }
}

/// What stands in for an operand that could not be compiled. It is never evaluated.
private final class BrokenNode: ExpressionNode, @unchecked Sendable {
    override func value(_ evaluation: inout Evaluation) -> JSON { .null }
}

/// An operator with what it was given, as it stands in the source.
struct Operation {
    let name: String
    let place: Place
    let argument: LocatedValue
    let owner: LocatedObject

    /// A single operand may stand without its array.
    var operands: [LocatedValue] {
        if case .array(let elements) = argument.content { elements } else { [argument] }
    }

    /// Whether the operand at an index is written as plain data, so that it is meant as it stands.
    func isMeant(_ index: Int) -> Bool {
        guard index < operands.count, case .object(let object) = operands[index].content,
            object.count == 1
        else { return false }
        return ["literal", "preserve"].contains(object.members[0].key)
    }

    /// Refuses a wrong number of operands.
    func expect(_ counts: ClosedRange<Int>) throws(SourceError) {
        let count = operands.count
        guard !counts.contains(count) else { return }
        throw invalidArguments("takes \(counts.inWords), not \(count)")
    }

    /// Refuses a single operand without its array, where a list of operands is all that makes sense.
    func expectArray() throws(SourceError) {
        if case .array = argument.content { return }
        throw invalidArguments("takes its values in an array")
    }

    /// Refuses an operand that is null as it stands there.
    func expectValue(at index: Int) throws(SourceError) {
        guard index < operands.count, case .scalar(.null) = operands[index].content else { return }
        throw invalidArguments("can't do anything with null")
    }

    /// The refusal of what can be seen to fail; the reason goes on from the operator's name.
    func invalidArguments(_ reason: String) -> SourceError {
        SourceError("\(name) \(reason) (\(EvaluationFailure.invalidArguments)).", at: place)
    }
}
