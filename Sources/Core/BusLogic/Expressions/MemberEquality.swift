import BusJSON

/// What a condition demands wherever it holds: that a member of the data has one of a few values.
package struct MemberEquality: Sendable {
    package let member: String
    package let values: [JSON]
    /// Whether it is written `state.floor`: then it is meant only where the data has no member `state`.
    package let isOfState: Bool

    fileprivate init(_ member: (name: String, isOfState: Bool), _ values: [JSON]) {
        (self.member, self.isOfState, self.values) = (member.name, member.isOfState, values)
    }
}

extension Expression {
    /// What it demands of members of the data itself, as far as that can be seen: `floor == "attic"` and `mode in ["off",
    /// "auto"]`, alone or beside others with `&&`.
    package var equalities: [MemberEquality] { node.equalities }
}

extension ExpressionNode {
    /// What it demands wherever it is true; what it lacks may be demanded, too.
    fileprivate var equalities: [MemberEquality] {
        switch self {
        case let node as EqualityNode where node.strict && !node.inverted:
            return (node.left.isOne(of: node.right) ?? node.right.isOne(of: node.left)).map { [$0] } ?? []
        case let node as ContainmentNode:
            guard let member = node.element.member, case .array(let values)? = node.container.constant
            else { return [] }
            return [MemberEquality(member, values)]
        case let node as AbsorbingNode where !node.decisive: return node.operands.equalities
        case let node as JunctionNode where !node.decisive: return node.operands.equalities
        case let node as BooleanNode: return node.operand.equalities
        default: return []
        }
    }

    private func isOne(of value: ExpressionNode) -> MemberEquality? {
        guard let member, let constant = value.constant else { return nil }
        return MemberEquality(member, [constant])
    }

    /// The member of the data that it reads, and nothing else.
    private var member: (name: String, isOfState: Bool)? {
        guard let read = self as? ElementReadNode else { return nil }
        if read.keys.count == 2, read.keys[0].name == "state",
            let inner = (read.fallback as? ElementReadNode)?.member
        {
            return (inner.name, true)
        }
        guard read.keys.count == 1, read.fallback == nil || read.fallback is FailureNode else { return nil }
        return (read.keys[0].name, false)
    }
}

extension Operands {
    fileprivate var equalities: [MemberEquality] { nodes.flatMap(\.equalities) }
}
