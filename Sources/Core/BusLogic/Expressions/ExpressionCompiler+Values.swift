import BusJSON
import BusProtocol
import BusSource

/// The operators on single values that JsonLogic's standard does not have.
extension ExpressionCompiler {
    func valueNode(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode? {
        switch operation.name {
        case "length":
            try operation.expect(1...1)
            return LengthNode(nodes[0])
        case "keys", "values", "entries":
            try operation.expect(1...1)
            return MembersNode(MembersNode.Part(rawValue: operation.name) ?? .keys, nodes[0])
        case "split":
            try operation.expect(2...2)
            return SplitNode(nodes[0], separator: nodes[1])
        case "join":
            try operation.expect(2...2)
            return JoinNode(nodes[0], separator: nodes[1])
        case "lower", "upper", "trim":
            try operation.expect(1...1)
            return RewritingNode(RewritingNode.Operation(rawValue: operation.name) ?? .trim, nodes[0])
        case "replace":
            try operation.expect(3...3)
            return ReplacementNode(nodes[0], part: nodes[1], by: nodes[2])
        case "round", "floor", "ceil":
            try operation.expect(1...2)
            let rounding = RoundingNode.Operation(rawValue: operation.name) ?? .round
            return RoundingNode(rounding, nodes[0], digits: nodes.count > 1 ? nodes[1] : nil)
        case "abs":
            try operation.expect(1...1)
            return MagnitudeNode(nodes[0])
        case "duration":
            try operation.expect(1...1)
            let node = DurationNode(nodes[0])
            try refuseFailing(node, nodes, operation)
            return node
        case "format": return try formatNode(operation, nodes)
        default: return nil
        }
    }

    private func formatNode(
        _ operation: Operation, _ nodes: [ExpressionNode]
    ) throws(SourceError) -> ExpressionNode {
        try operation.expect(1...2)
        guard nodes.count > 1 else { return FormatNode(nodes[0], precision: .seconds) }
        let names = CalendarTime.Precision.allCases.map(\.rawValue)
        guard case .string(let name)? = nodes[1].constant else {
            throw SourceError(
                "The precision of format is one of \(names.joined(separator: ", ")).", at: operation.place)
        }
        guard let precision = CalendarTime.Precision(rawValue: name) else {
            let hint = suggestion(for: name, among: names)
            throw SourceError("\(name) is not a precision of format; \(hint)", at: operation.place)
        }
        return FormatNode(nodes[0], precision: precision)
    }

    /// Refuses an operation on constants that always fails.
    private func refuseFailing(
        _ node: ExpressionNode, _ operands: [ExpressionNode], _ operation: Operation
    ) throws(SourceError) {
        guard operands.allSatisfy({ $0.constant != nil }) else { return }
        var evaluation = Evaluation(budget: .ofStore)
        do throws(EvaluationFailure) {
            _ = try node.value(&evaluation)
        } catch {
            throw SourceError("\(error).", at: operation.place)
        }
    }
}
