import BusSource

/// What to write where libyaml finds that a text is not YAML. It knows its grammar and says what it expected; who writes a file has
/// used a tab, or begun a text with what YAML has a meaning for.
struct YAMLAdvice {
    private let source: SourceText
    private let problem: String
    private let context: String
    /// Where libyaml stopped, and where what it was reading then begins.
    private let place: Place
    private let start: Place

    init(_ source: SourceText, problem: String, context: String, at place: Place, from start: Place) {
        self.source = source
        self.problem = problem
        self.context = context
        self.place = place
        self.start = start
    }

    var error: SourceError {
        let (sentence, place) =
            advice ?? (
                "\(problem) \(context); check the indentation and the quotes here and above", self.place
            )
        return SourceError("This is not YAML: \(sentence).", at: place)
    }

    private var advice: (String, Place)? {
        if next == "\t" || problem.contains("a tab") {
            return ("a tab stands here; indent with spaces", place)
        }
        if problem.contains("cannot start any token") { return beginning(at: place) }
        if ["a block scalar", "an alias", "an anchor"].contains(where: context.hasSuffix) {
            return beginning(at: start)
        }
        if problem.hasPrefix("mapping values") { return secondColon }
        if problem.hasPrefix("could not find expected ':'") { return missingColon(in: start) }
        if problem.hasPrefix("found unexpected end"), context.hasSuffix("a quoted scalar") {
            return ("the quote that begins here is never closed; add the quote that ends it", start)
        }
        if problem.hasPrefix("did not find expected ','") { return openBracket }
        if problem.hasPrefix("did not find expected key") { return strayKey }
        if problem.hasPrefix("did not find expected '-'") {
            return (
                "a list goes on with a dash; write - before this element, or indent it differently", place
            )
        }
        return nil
    }

    /// What is wrong with a key that YAML reads without an objection: it is the beginning of a text, or of a line that lacks a colon.
    static func mistake(ofKey key: String, at place: Place, in source: SourceText) -> SourceError? {
        guard UnquotedText.isExpression(key[...]) || key.contains(where: { "{[".contains($0) }) else {
            return nil
        }
        let advice = YAMLAdvice(source, problem: "", context: "", at: place, from: place)
        if UnquotedText.isExpression(key[...]) {
            return SourceError(
                "YAML reads a key here, `\(key)`; \(advice.text(":", isInBrackets: true)).", at: place)
        }
        guard key.wholeMatch(of: /[A-Za-z][\w\-]* ?[{\[][^}\]]*/) != nil,
            let (sentence, start) = advice.colonBeforeBracket(in: place.line)
        else { return nil }
        return SourceError("YAML reads a key here, `\(key)`: \(sentence).", at: start)
    }

    // MARK: Advice

    /// A text or an operator that begins with what has a meaning in YAML.
    private func beginning(at place: Place) -> (String, Place)? {
        let rest = line(place.line).dropFirst(place.column - 1)
        guard let first = rest.first else { return nil }
        let word = String(rest.prefix { !" \t:,{}[]".contains($0) })
        if !word.isEmpty, rest.dropFirst(word.count).first == ":" {
            return ("an operator such as \(word) stands in quotes; write \"\(word)\"", place)
        }
        return ("a text that begins with \(first) stands in quotes; write \"\(first)…\"", place)
    }

    /// A colon where no key can be: in a text, or because a line before lacks its own.
    private var secondColon: (String, Place)? {
        let before = line(place.line).prefix(place.column - 1)
        if before.contains(": ") {
            return colonBeforeBracket(in: place.line) ?? (text(":", isInBrackets: false), place)
        }
        guard let above = lineAbove else { return nil }
        let text = Self.trimmed(line(above.line))
        if !text.contains(":"), !text.hasPrefix("-") { return missingColon(in: above) }
        return (
            "this line is indented further than the one above, which has its value already; give both the same indentation",
            place
        )
    }

    /// That a text with a character in it stands in quotes.
    private func text(_ character: Character, isInBrackets: Bool) -> String {
        let sign = character == ":" ? ": " : String(character)
        let text = UnquotedText(in: line(place.line), at: place.column, isInBrackets: isInBrackets)
        return "a text with `\(sign)` in it stands in quotes; write \(text.quoted)"
    }

    /// A line such as `initial { on: false }`, whose key YAML takes to end at the first colon.
    private func colonBeforeBracket(in number: Int) -> (String, Place)? {
        guard let match = Self.trimmed(line(number)).wholeMatch(of: /([A-Za-z][\w\-]*) ?([{\[].*)/) else {
            return nil
        }
        return (
            "\(match.1) lacks its colon; write \(match.1): \(match.2)",
            Place(file: place.file, line: number, column: indentation(number) + 1)
        )
    }

    /// A line that is to be a key and has no colon, or no space behind it.
    private func missingColon(in place: Place) -> (String, Place)? {
        let text = Self.trimmed(line(place.line))
        let start = Place(file: place.file, line: place.line, column: indentation(place.line) + 1)
        if let match = text.wholeMatch(of: /([^\s:]+):(\S.*)/) {
            return ("a space belongs behind the colon; write \(match.1): \(match.2)", start)
        }
        let words = text.split(separator: " ", maxSplits: 1)
        guard let key = words.first else { return nil }
        let rest = words.count > 1 ? " \(words[1])" : ""
        return ("\(key) lacks its colon; write \(key):\(rest)", start)
    }

    /// Something else where an object or a list in brackets goes on or ends.
    private var openBracket: (String, Place)? {
        if next == ":", start.line == place.line { return (text(":", isInBrackets: true), place) }
        if let next, "{[".contains(next) {
            let text = UnquotedText(in: line(place.line), at: place.column, isInBrackets: true)
            if text.isExpression {
                let all = "a text with `\(next)` in it stands in quotes"
                return ("\(all), between { and } or [ and ]; write \(text.quoted)", place)
            }
        }
        if next == "{" {
            return (
                "a text with { in it stands in quotes; an expression has none around its names, as = payload.a",
                place
            )
        }
        if let quoted { return quoted }
        if next == "[", let before = line(place.line).prefix(place.column - 1).last, !" \",'".contains(before)
        {
            return (text("[", isInBrackets: true), place)
        }
        let bracket = context.hasSuffix("mapping") ? ("{", "}") : ("[", "]")
        return (
            "a comma or \(bracket.1) is missing here, or above; the \(bracket.0) is in line \(start.line), column \(start.column)",
            place
        )
    }

    /// Something else where an object goes on with a key or ends.
    private var strayKey: (String, Place)? {
        if let quoted { return quoted }
        let before = line(place.line).prefix(place.column - 1)
        if let next, "}]".contains(next) { return ("this \(next) closes nothing; leave it out", place) }
        guard before.allSatisfy({ $0 == " " }) else {
            let bracket = before.last { $0 != " " } == "]" ? "[" : "{"
            return ("a text that begins with \(bracket) stands in quotes; write '\(bracket)…'", place)
        }
        return (
            "this line is indented like none of those above; give it the indentation of its neighbours", place
        )
    }

    /// What stands behind a text in quotes belongs into them.
    private var quoted: (String, Place)? {
        let before = line(place.line).prefix(place.column - 1).last { $0 != " " }
        guard before == "\"" || before == "'" else { return nil }
        return (
            "a text in quotes ends here; write the whole in quotes of the other kind, such as '\"a\" + b'",
            place
        )
    }

    // MARK: Lines

    private var next: Character? { line(place.line).dropFirst(place.column - 1).first }

    private func line(_ number: Int) -> Substring {
        let lines = source.bytes.split(separator: 10, omittingEmptySubsequences: false)
        return lines.indices.contains(number - 1)
            ? String(decoding: lines[number - 1], as: UTF8.self)[...] : ""
    }

    private func indentation(_ number: Int) -> Int { line(number).prefix { $0 == " " }.count }

    /// The last line above that has more than a comment.
    private var lineAbove: Place? {
        for number in stride(from: place.line - 1, to: 0, by: -1) {
            let text = Self.trimmed(line(number))
            if !text.isEmpty, !text.hasPrefix("#") { return Place(file: place.file, line: number, column: 1) }
        }
        return nil
    }

    static func trimmed(_ line: Substring) -> Substring {
        let start = line.drop { $0 == " " || $0 == "\r" }
        return start[
            ..<(start.lastIndex { $0 != " " && $0 != "\r" }.map(start.index(after:)) ?? start.startIndex)]
    }
}
