import BusJSON

/// `cat`: the texts of all operands, one after the other.
final class ConcatenationNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]

    init(_ operands: [ExpressionNode]) { self.operands = operands }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var text = ""
        for operand in operands { try evaluation.append(operand.value(&evaluation), to: &text) }
        return .string(text)
    }
}

/// `substr`: a part of a text, counted in Unicode scalars. A negative start counts from the end; a negative
/// length leaves out that many at the end.
final class SubstringNode: ExpressionNode, @unchecked Sendable {
    let source: ExpressionNode
    let start: ExpressionNode
    let length: ExpressionNode?

    init(_ source: ExpressionNode, _ start: ExpressionNode, _ length: ExpressionNode?) {
        self.source = source
        self.start = start
        self.length = length
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let text = try evaluation.text(of: source.value(&evaluation))
        let start = try Self.whole(start, &evaluation)
        let length = try length.map { (node) throws(EvaluationFailure) in
            try Self.whole(node, &evaluation)
        }
        try evaluation.spend(text.utf8.count >> 4)

        let scalars = text.unicodeScalars
        let count = scalars.count
        let from = start < 0 ? max(count + start, 0) : min(start, count)
        var taken = count - from
        if let length { taken = length < 0 ? max(taken + length, 0) : min(length, taken) }
        let first = scalars.index(scalars.startIndex, offsetBy: from)
        let part = String(scalars[first..<scalars.index(first, offsetBy: taken)])
        try evaluation.produce(part.utf8.count)
        return .string(part)
    }

    /// The integer that a position means; far positions are as good as the end.
    private static func whole(
        _ node: ExpressionNode, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Int {
        let far = 1 << 40
        switch try evaluation.number(node.value(&evaluation), as: \.number) {
        case .int(let number): return min(max(number, -far), far)
        case .double(let number): return Int(min(max(number, Double(-far)), Double(far)))
        case nil: return 0
        }
    }
}

/// `in`: whether an array has an equal element, or a text the other text in it.
final class MembershipNode: PredicateNode, @unchecked Sendable {
    let element: ExpressionNode
    let container: ExpressionNode

    init(_ element: ExpressionNode, _ container: ExpressionNode) {
        self.element = element
        self.container = container
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        let sought = try element.value(&evaluation)
        switch try container.value(&evaluation) {
        case .array(let elements): return try evaluation.contains(sought, in: elements)
        case .string(let text):
            if text.utf8.isEmpty { return false }
            let part = try evaluation.text(of: sought)
            if part.utf8.isEmpty { return true }
            return try evaluation.offset(of: part, in: text, from: 0) != nil
        default: return false
        }
    }
}
