import BusJSON

/// `lower`, `upper`, `trim`. Letters are changed by Unicode's own tables and never by a locale; white space is what
/// Unicode calls so.
final class RewritingNode: ExpressionNode, @unchecked Sendable {
    enum Operation: String {
        case lower, upper, trim
    }

    let operation: Operation
    let source: ExpressionNode

    init(_ operation: Operation, _ source: ExpressionNode) {
        self.operation = operation
        self.source = source
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let text = try evaluation.operandText(source.value(&evaluation), for: operation.rawValue)
        try evaluation.spend(text.utf8.count >> 4)
        let result: String =
            switch operation {
            case .lower: text.lowercased()
            case .upper: text.uppercased()
            case .trim: Self.trimmed(text)
            }
        try evaluation.produce(result.utf8.count)
        return .string(result)
    }

    static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !isSpace($0) }),
            let last = scalars.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    /// Most are known without a look at Unicode's tables.
    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? scalar == " " || 0x09...0x0d ~= scalar.value : scalar.properties.isWhitespace
    }
}

/// `replace`: every occurrence of a text in another gives way to a third, from left to right. An empty text is
/// found nowhere.
final class ReplacementNode: ExpressionNode, @unchecked Sendable {
    let source: ExpressionNode
    let part: ExpressionNode
    let replacement: ExpressionNode

    init(_ source: ExpressionNode, part: ExpressionNode, by replacement: ExpressionNode) {
        self.source = source
        self.part = part
        self.replacement = replacement
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let text = try evaluation.operandText(source.value(&evaluation), for: "replace")
        let part = try evaluation.operandText(part.value(&evaluation), for: "replace")
        let replacement = try evaluation.operandText(replacement.value(&evaluation), for: "replace")
        if part.utf8.isEmpty { return .string(text) }
        var result = ""
        var end = 0
        while let start = try evaluation.offset(of: part, in: text, from: end) {
            try evaluation.spend()
            try evaluation.produce(start - end + replacement.utf8.count)
            result += text.bytes(end..<start)
            result += replacement
            end = start + part.utf8.count
        }
        try evaluation.produce(text.utf8.count - end)
        result += text.bytes(end..<text.utf8.count)
        return .string(result)
    }
}

/// `split`: the parts of a text between the occurrences of a separator; an empty one stands between all Unicode
/// scalars.
final class SplitNode: ExpressionNode, @unchecked Sendable {
    let source: ExpressionNode
    let separator: ExpressionNode

    init(_ source: ExpressionNode, separator: ExpressionNode) {
        self.source = source
        self.separator = separator
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let text = try evaluation.operandText(source.value(&evaluation), for: "split")
        let separator = try evaluation.operandText(separator.value(&evaluation), for: "split")
        var parts: [JSON] = []
        if separator.utf8.isEmpty {
            for scalar in text.unicodeScalars { try Self.add(String(scalar), to: &parts, &evaluation) }
            return .array(parts)
        }
        var end = 0
        while let start = try evaluation.offset(of: separator, in: text, from: end) {
            try Self.add(String(text.bytes(end..<start)), to: &parts, &evaluation)
            end = start + separator.utf8.count
        }
        try Self.add(String(text.bytes(end..<text.utf8.count)), to: &parts, &evaluation)
        return .array(parts)
    }

    private static func add(
        _ part: String, to parts: inout [JSON], _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) {
        try evaluation.spend()
        try evaluation.produce(element: .string(part))
        parts.append(.string(part))
    }
}

/// `join`: the texts of an array's elements with a separator between them.
final class JoinNode: ExpressionNode, @unchecked Sendable {
    let list: ExpressionNode
    let separator: ExpressionNode

    init(_ list: ExpressionNode, separator: ExpressionNode) {
        self.list = list
        self.separator = separator
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let list = try list.value(&evaluation)
        let separator = try evaluation.operandText(separator.value(&evaluation), for: "join")
        if case .null = list { return .string("") }
        var text = ""
        for (index, element) in try Evaluation.elements(of: list, for: "join").enumerated() {
            try evaluation.spend()
            if index > 0 {
                try evaluation.produce(separator.utf8.count)
                text += separator
            }
            try evaluation.append(element, to: &text)
        }
        return .string(text)
    }
}
