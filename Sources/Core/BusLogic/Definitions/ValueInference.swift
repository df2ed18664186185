import BusJSON
import BusProtocol

/// What is known about the value of an expression before there is any data. Nothing is guessed: where it could be
/// anything, it is.
struct ValueInference {
    let payload: LoadedPayload
    let state: StateSchema?
    /// Who knows more of expressions in text.
    let review: ExpressionReview

    func schema(of node: ExpressionNode) -> ValueSchema {
        if let known = review.schemas[ObjectIdentifier(node)] { return known.schema }
        if let constant = node.constant {
            var words = ValueSchema.Words()
            words.choices = [constant]
            return ValueSchema(words)
        }
        switch node {
        case let read as PayloadReadNode: return self.schema(of: read)
        case let read as StateReadNode: return self.schema(of: read)
        case let read as NamedReadNode where read.keys.isEmpty:
            let schema = self.schema(of: read.value)
            // Names read names: without this, each would be looked through as often as there are ways to it.
            review.know(read.value, schema)
            return schema
        case let object as ObjectNode: return self.schema(of: object)
        case let read as MetaReadNode: return Self.schema(of: read)
        case let sum as SumNode: return self.schema(ofNumber: sum.operands.nodes)
        case let product as ProductNode: return self.schema(ofNumber: product.operands.nodes)
        case let negation as NegationNode: return self.schema(ofNumber: [negation.operand])
        case is PredicateNode, is QuantifierNode: return .boolean
        case is ConcatenationNode, is SubstringNode, is JoinNode, is RewritingNode, is ReplacementNode,
            is FormatNode, is StoreReadNode:
            return .string
        case is BinaryNode, is FoldNode, is RoundingNode, is MagnitudeNode, is LengthNode, is DurationNode:
            return .number
        case is ArrayNode, is MapNode, is FilterNode, is SortNode, is MergeNode, is SplitNode, is MembersNode:
            return Self.array
        default: return .any
        }
    }

    private static let array = ValueSchema(.init(.array))

    /// The members that a map has, if any, as far as they are known, each with an expression that gives what is there.
    func members(of node: ExpressionNode) -> [(name: String, value: ExpressionNode)] {
        if let read = node as? PayloadReadNode, read.keys.isEmpty {
            return payload.members.map { member in
                let node = PayloadReadNode([ReadKey(member.name)], fallback: nil)
                // A member that is absent is not written, so that it is no null.
                review.know(node, member.schema)
                return (member.name, node)
            }
        }
        return (schema(of: node).properties ?? []).map { property in
            let node = ElementReadNode([], fallback: nil)
            review.know(node, property.schema)
            return (property.name, node)
        }
    }

    // MARK: Reads

    private func schema(of read: PayloadReadNode) -> ValueSchema {
        guard read.fallback == nil, let first = read.keys.first, let member = payload.member(first.name)
        else {
            return read.keys.isEmpty ? ValueSchema(.init(.object)) : .any
        }
        let isAlways = !member.isOptional || member.schema.fallback != nil
        return Self.schema(member.schema, read.keys.dropFirst(), isAlways: isAlways)
    }

    private func schema(of read: StateReadNode) -> ValueSchema {
        guard read.fallback == nil, let first = read.keys.first, let member = state?[first.name] else {
            return .any
        }
        return Self.schema(member, read.keys.dropFirst(), isAlways: true)
    }

    /// What keys below a value lead to.
    private static func schema(
        _ start: ValueSchema, _ keys: ArraySlice<ReadKey>, isAlways: Bool
    ) -> ValueSchema {
        var schema = start
        var isAlways = isAlways
        for key in keys {
            guard schema.choices == nil, case .schema(let inner) = schema.inside(key.name) else {
                return .any
            }
            if schema.isNullable || schema.property(key.name)?.isRequired != true { isAlways = false }
            schema = inner
        }
        if isAlways || schema.isNullable || schema.isOpen { return schema }
        var words = schema.words
        words.isNullable = true
        return ValueSchema(words)
    }

    private static func schema(of read: MetaReadNode) -> ValueSchema {
        guard read.keys.count == 1, read.fallback == nil else { return .any }
        switch read.keys[0].name {
        case "time": return .number
        case "revision": return .integer
        case let name where ClockTime(rawValue: name) != nil: return .integer
        default: return .any
        }
    }

    // MARK: Values that are made

    private func schema(of object: ObjectNode) -> ValueSchema {
        var words = ValueSchema.Words(.object)
        words.properties = zip(object.keys, object.values).map { key, value in
            .init(name: key, schema: self.schema(of: value), isRequired: true)
        }
        return ValueSchema(words)
    }

    /// Integers give an integer, or a rejection.
    private func schema(ofNumber operands: [ExpressionNode]) -> ValueSchema {
        operands.allSatisfy { self.schema(of: $0).implies(.integer) } ? .integer : .number
    }
}
