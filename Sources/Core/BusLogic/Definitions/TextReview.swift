import BusJSON
import BusProtocol

/// Finds texts that look like expressions of another language: `payload.level`, `level <= 100`, `Hello {payload.name}`.
///
/// Nothing in JsonLogic reads a text, so each of these would be taken for what it says, letter by letter.
struct TextReview {
    private let review: ExpressionReview

    init(_ review: ExpressionReview) { self.review = review }

    private static let roots = ["payload", "state", "meta"]
    private static let comparisons: Set<String> = [
        "<", "<=", ">", ">=", "==", "===", "!=", "!==", "&&", "||",
    ]
    private static let arithmetic: Set<String> = ["+", "-", "*", "/", "%"]

    /// Longer texts are prose.
    private static let longest = 200

    /// The sentence about a text that looks like an expression; nil for any other.
    func message(for text: String) -> String? {
        guard text.utf8.count <= Self.longest else { return nil }
        if let root = Self.roots.first(where: { text.contains("{\($0).") || text.contains("{{\($0).") }),
            text.contains("}")
        {
            return "Texts are not filled in; write { cat: [\"…\", { var: \(root).NAME }, \"…\"] } instead, "
                + "or { literal: … } if the braces are meant."
        }
        if Self.isRead(text) {
            return "\(text) is only a text here; write { var: \(name(text)) } to read it, "
                + "or { literal: \(text) } if the text is meant."
        }
        guard let expression = operation(text) ?? negation(text) else { return nil }
        return "\(text) is only a text here; write \(expression), or { literal: … } if the text is meant."
    }

    /// Whether a text is a path from one of the roots: `payload.level`.
    private static func isRead(_ text: some StringProtocol) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count > 1, roots.contains(where: { $0.utf8.elementsEqual(parts[0]) }) else {
            return false
        }
        return parts.dropFirst().allSatisfy { !$0.isEmpty && $0.allSatisfy(isLetter) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        97...122 ~= byte || 65...90 ~= byte || 48...57 ~= byte || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-")
    }

    private static func isPath(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(48...57 ~= first), first != UInt8(ascii: "-") else {
            return false
        }
        return text.utf8.allSatisfy { isLetter($0) || $0 == UInt8(ascii: ".") }
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool { Double(String(text)) != nil }

    // MARK: Operations

    /// What an operation between values is in JsonLogic; nil where the text is none.
    private func operation(_ text: String) -> String? {
        let words = text.split(separator: " ")
        guard words.count >= 3, words.count % 2 == 1 else { return glued(text) }
        let operators = stride(from: 1, to: words.count, by: 2).map { String(words[$0]) }
        let values = stride(from: 0, to: words.count, by: 2).map { String(words[$0]) }
        guard values.allSatisfy({ Self.isPath($0) || Self.isNumber($0) }) else { return nil }
        let compares = operators.allSatisfy { Self.comparisons.contains($0) || Self.arithmetic.contains($0) }
        guard compares else { return nil }
        // "A - B" may be a title: arithmetic has to be about something that is there.
        let isComparison = operators.contains { Self.comparisons.contains($0) }
        guard isComparison || values.contains(where: isKnown) else { return nil }
        return example(operators[0], values[0], values[1])
    }

    /// The same without spaces, where it begins with a read: `state.level>5`.
    private func glued(_ text: String) -> String? {
        let path = text.prefix { $0.isASCII && $0.asciiValue.map { Self.isLetter($0) || $0 == 46 } == true }
        guard Self.isRead(path) else { return nil }
        let rest = text.dropFirst(path.count)
        let symbol = rest.prefix { "<>=!&|+*/%".contains($0) }
        let known = Self.comparisons.union(Self.arithmetic)
        guard known.contains(String(symbol)) else { return nil }
        let value = rest.dropFirst(symbol.count)
        guard Self.isPath(value) || Self.isNumber(value) else { return nil }
        return example(String(symbol), String(path), String(value))
    }

    /// `!state.isOn`.
    private func negation(_ text: String) -> String? {
        guard text.hasPrefix("!") else { return nil }
        let rest = text.dropFirst()
        guard Self.isRead(rest) else { return nil }
        return "{ \"!\": { var: \(name(String(rest))) } }"
    }

    private func example(_ symbol: String, _ left: String, _ right: String) -> String {
        let word = symbol == "&&" ? "and" : symbol == "||" ? "or" : "\"\(symbol)\""
        return "{ \(word): [\(operand(left)), \(operand(right))] }"
    }

    private func operand(_ text: String) -> String {
        if Self.isNumber(text) || ["true", "false", "null"].contains(text) { return text }
        let isSomewhere = Self.isRead(text) || isKnown(text)
        return isSomewhere ? "{ var: \(name(text)) }" : text
    }

    /// Whether a word is a read, or the name of a member of the state or the payload.
    private func isKnown(_ text: String) -> Bool {
        if Self.isRead(text) { return true }
        let first = String(text.prefix { $0 != "." })
        return review.names?.contains { UTF8Order.equal($0, first) } == true
            || review.payload?.member(first) != nil
    }

    /// What a word is called where it stands: computed values read the state itself.
    private func name(_ text: String) -> String {
        let isComputed = review.payload == nil
        if Self.isRead(text) {
            return isComputed && text.hasPrefix("state.") ? String(text.dropFirst("state.".count)) : text
        }
        if isComputed { return text }
        let first = String(text.prefix { $0 != "." })
        return review.payload?.member(first) != nil ? "payload.\(text)" : "state.\(text)"
    }
}
