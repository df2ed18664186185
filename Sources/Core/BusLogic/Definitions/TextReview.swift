import BusCEL
import BusJSON
import BusProtocol

/// Finds texts that look like expressions but are taken literally, mostly because they don't begin with `=`: `payload.level`,
/// `level <= 100`, `Hello {payload.name}`.
struct TextReview {
    private let review: ExpressionReview

    init(_ review: ExpressionReview) { self.review = review }

    private static let roots = ["payload", "state", "meta"]

    /// In bytes; longer texts are prose.
    private static let longest = 200

    /// The message about a text that looks like an expression; nil for any other text.
    func message(for text: String) -> String? {
        guard text.utf8.count <= Self.longest else { return nil }
        if let root = Self.roots.first(where: { text.contains("{\($0).") || text.contains("{{\($0).") }),
            text.contains("}")
        {
            return "Texts are not filled in; write = \"…\" + string(\(root).NAME) + \"…\" instead, "
                + "or { literal: … } if the braces are meant."
        }
        guard let term = try? TextCompiler.term(text), isMeant(term) else { return nil }
        if TextCompiler.isMarked(text) {
            return "\(text) is only a text inside of an operation in JsonLogic; write the whole as one text, "
                + "or { literal: … } if the text is meant."
        }
        return "\(text) is only a text here; write = \(qualified(text, term)), "
            + "or { literal: … } if the text is meant."
    }

    /// Whether a term is probably meant as an expression: it compares or joins conditions, or it uses known names.
    private func isMeant(_ term: Term) -> Bool {
        switch term.form {
        case .null, .bool, .int, .double, .text, .name: false
        case .unary(.negative, _): false
        case .binary(.equal, _, _), .binary(.unequal, _, _), .binary(.less, _, _),
            .binary(.lessOrEqual, _, _),
            .binary(.greater, _, _), .binary(.greaterOrEqual, _, _), .all, .any:
            true
        // "A - B" may be a title.
        case .binary: term.names.contains { isKnown($0.name) || Self.roots.contains($0.name) }
        default: term.names.contains { $0.isRead && Self.roots.contains($0.name) }
        }
    }

    private func isKnown(_ name: String) -> Bool {
        review.names?.contains { UTF8Order.equal($0, name) } == true || review.payload?.member(name) != nil
    }

    /// The text with `payload.` or `state.` before the names that lack it. Computed values have no payload and read the state's
    /// members without a prefix, so there the text stays as it is.
    private func qualified(_ text: String, _ term: Term) -> String {
        guard let payload = review.payload else { return text }
        var scalars = Array(text.unicodeScalars)
        let names = term.names.filter {
            $0.position.line == 1 && !Self.roots.contains($0.name) && isKnown($0.name)
        }
        for name in names.sorted(by: { $0.position.column > $1.position.column }) {
            let root = payload.member(name.name) != nil ? "payload." : "state."
            scalars.insert(contentsOf: root.unicodeScalars, at: name.position.column - 1)
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

extension Term {
    /// The name at the beginning of a path, and whether a member follows it.
    fileprivate struct Name {
        let name: String
        let position: Position
        var isRead = false
    }

    fileprivate var names: [Name] {
        switch form {
        case .name(let name): return [Name(name: name, position: position)]
        case .member(let owner, _, _):
            var names = owner.names
            if case .name = owner.form { names[0].isRead = true }
            return names
        default: return form.parts.flatMap(\.names)
        }
    }
}
