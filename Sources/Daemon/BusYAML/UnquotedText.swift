/// A text that YAML splits at a colon or a bracket because it has no quotes: what is written instead.
struct UnquotedText {
    /// The key that it is the value of.
    private let key: Substring?
    private let text: Substring

    /// - Parameters:
    ///   - column: A place in the text, from 1.
    ///   - isInBrackets: Whether it is between `{` and `}` or `[` and `]` of YAML, where it ends at a comma.
    init(in line: Substring, at column: Int, isInBrackets: Bool) {
        let before = line.prefix(column - 1)
        var rest = line
        if isInBrackets, let bracket = before.lastIndex(where: { "{[,".contains($0) }) {
            rest = line[line.index(after: bracket)...]
        }
        rest = YAMLAdvice.trimmed(rest)
        while rest.hasPrefix("- ") { rest = YAMLAdvice.trimmed(rest.dropFirst(2)) }
        if let colon = rest.firstRange(of: ": "), !Self.isExpression(rest[..<colon.lowerBound]) {
            key = rest[..<colon.lowerBound]
            rest = YAMLAdvice.trimmed(rest[colon.upperBound...])
        } else {
            key = nil
        }
        text = YAMLAdvice.trimmed(rest[..<Self.end(of: rest, isInBrackets: isInBrackets)])
    }

    /// Whether it begins as an expression does that is no name: with `= `, or as a conditional.
    static func isExpression(_ text: Substring) -> Bool { text.hasPrefix("= ") || text.contains(" ? ") }

    /// Whether it can't be meant as anything but an expression; one with a name in braces is another language's template.
    var isExpression: Bool {
        guard Self.isExpression(text) else { return false }
        return text.firstMatch(of: /\{\s*[A-Za-z_]/) == nil
    }

    /// The key and the text in quotes. A text that is too long to be shown is left out.
    var quoted: String {
        let prefix = key.map { "\($0): " } ?? ""
        guard text.count <= 120 else { return prefix + "\"…\"" }
        guard text.contains(where: { "\"\\".contains($0) }) else { return prefix + "\"\(text)\"" }
        return prefix + "'" + text.replacing("'", with: "''") + "'"
    }

    /// Where the text ends: at a comment, and between brackets at the comma or the bracket that is not its own.
    private static func end(of text: Substring, isInBrackets: Bool) -> String.Index {
        var (depth, quote, last): (Int, Character?, Character) = (0, nil, " ")
        for index in text.indices {
            let character = text[index]
            defer { last = character }
            switch character {
            case _ where quote != nil: if character == quote { quote = nil }
            case "\"", "'": if !last.isLetter { quote = character }
            case "#" where last == " ": return index
            case "{", "[", "(": depth += 1
            case ",", "}", "]", ")":
                if isInBrackets, depth <= 0, character != ")" { return index }
                if character != "," { depth -= 1 }
            default: break
            }
        }
        return text.endIndex
    }
}
