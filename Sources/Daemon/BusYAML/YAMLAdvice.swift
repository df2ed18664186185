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
        if before.contains(": ") { return (Self.colonInText, place) }
        guard let above = lineAbove else { return nil }
        let text = Self.trimmed(line(above.line))
        if !text.contains(":"), !text.hasPrefix("-") { return missingColon(in: above) }
        return (
            "this line is indented further than the one above, which has its value already; give both the same indentation",
            place
        )
    }

    private static let colonInText =
        "a text with `: ` in it stands in quotes; write KEY: \"…\", or '…' around one with quotes"

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
        if next == ":", start.line == place.line { return (Self.colonInText, place) }
        if next == "{" {
            return (
                "a text with { in it stands in quotes; an expression has none around its names, as = payload.a",
                place
            )
        }
        if let quoted { return quoted }
        if next == "[", let before = line(place.line).prefix(place.column - 1).last, !" \",'".contains(before)
        {
            return ("a text with [ in it stands in quotes, between { and } or [ and ]; write \"…\"", place)
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

    private func line(_ number: Int) -> String {
        let lines = source.bytes.split(separator: 10, omittingEmptySubsequences: false)
        return lines.indices.contains(number - 1) ? String(decoding: lines[number - 1], as: UTF8.self) : ""
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

    private static func trimmed(_ line: String) -> Substring {
        let start = line.drop { $0 == " " || $0 == "\r" }
        return start[
            ..<(start.lastIndex { $0 != " " && $0 != "\r" }.map(start.index(after:)) ?? start.startIndex)]
    }
}
