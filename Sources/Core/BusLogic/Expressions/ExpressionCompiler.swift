import BusJSON
import BusSource

/// Turns JsonLogic into a tree of operations. Everything that can be known beforehand is done here, once:
/// operators are looked up, places that are known are found, and what depends on no data is worked out.
struct ExpressionCompiler {
    /// What the expressions compiled so far read of the state.
    private(set) var reads = StateReads()
    /// Whether something that was compiled climbs to data that has to be kept for it.
    var climbs = false

    /// Compiles one expression. An object with one member is an operation, any other is built member by
    /// member, an array element by element; everything else is itself.
    mutating func compile(
        _ source: LocatedValue, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        switch source.content {
        case .scalar(let value): return LiteralNode(value)
        case .array(let elements):
            let nodes = try compile(elements, in: scope)
            return Self.folded(ArrayNode(nodes), nodes)
        case .object(let object):
            if object.count == 1 {
                let member = object.members[0]
                let operation = Operation(
                    name: member.key, place: member.place, argument: member.value, owner: object)
                return try compile(operation, in: scope)
            }
            return try build(object, in: scope)
        }
    }

    mutating func compile(
        _ sources: [LocatedValue], in scope: ExpressionScope
    ) throws(SourceError) -> [ExpressionNode] {
        var nodes: [ExpressionNode] = []
        for source in sources { nodes.append(try compile(source, in: scope)) }
        return nodes
    }

    /// An object whose members are expressions.
    mutating func build(
        _ object: LocatedObject, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let members = object.members.sorted { UTF8Order.precedes($0.key, $1.key) }
        let nodes = try compile(members.map(\.value), in: scope)
        return Self.folded(ObjectNode(keys: members.map(\.key), values: nodes), nodes)
    }

    /// Remembers that the expression reads a member of the state; nil: any.
    mutating func note(read name: String?) {
        if let name { reads.insert(name) } else { reads.everything = true }
    }

    /// The value itself instead of an operation whose operands are all constant. What can't be worked out, or
    /// not cheaply, is left to fail when it is evaluated.
    static func folded(_ node: ExpressionNode, _ operands: [ExpressionNode]) -> ExpressionNode {
        guard operands.allSatisfy({ $0.constant != nil }) else { return node }
        var evaluation = Evaluation(budget: Budget(operations: 10_000, bytes: 1 << 16))
        do throws(EvaluationFailure) {
            return LiteralNode(try node.value(&evaluation))
        } catch {
            return node
        }
    }
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
