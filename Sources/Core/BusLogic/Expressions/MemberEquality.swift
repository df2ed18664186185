import BusJSON

/// A requirement that every match of a condition meets: a member of the data has one of a few values.
package struct MemberEquality: Sendable {
    package let member: String
    package let values: [JSON]
    /// Whether the condition says `state.floor`, which means `floor` only where the data has no member `state`.
    package let isOfState: Bool

    fileprivate init(_ member: (name: String, isOfState: Bool), _ values: [JSON]) {
        (self.member, self.isOfState, self.values) = (member.name, member.isOfState, values)
    }
}

extension Expression {
    /// The values that members of the data must have, as far as the expression's form shows it: `floor == "attic"` and
    /// `mode in ["off", "auto"]`, alone or joined with others by `&&`.
    package var equalities: [MemberEquality] { node.equalities }
}

extension ExpressionNode {
    /// The requirements that are met wherever the node is true; there may be others.
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

    /// The member of the data, if the node only reads one.
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
