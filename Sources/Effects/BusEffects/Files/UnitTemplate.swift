import BusJSON
import BusLogic
import BusSource

/// The name of a unit with places that an event fills: `alarm@{store.name}.service`.
///
/// Guarantees that no value of an event names another unit than the file means: places stand in the instance of a
/// template unit only, behind `NAME@` and before the unit's kind, and a value with anything but the characters of unit
/// names is refused.
package struct UnitTemplate: Sendable {
    private enum Part: Sendable {
        case text(String)
        case place(Expression, String)
    }

    private let parts: [Part]
    let readsState: Bool

    /// Bytes, as systemd has it.
    private static let longest = 255
    private static let kinds = [
        "service", "target", "timer", "path", "socket", "mount", "automount", "swap", "slice", "scope",
        "device",
    ]

    package init(_ source: LocatedValue, for verb: String) throws(SourceError) {
        let text = try source.string(verb)
        var (parts, literal, reads): ([Part], String, Bool) = ([], "", false)
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw source.failure("`\(text)` has a { without its }; write {store.name}.")
            }
            literal += rest[..<open]
            parts.append(.text(literal))
            literal = ""
            let inner = String(rest[rest.index(after: open)..<close])
            let expression = try Self.expression(inner, source)
            reads = reads || expression.reads.contains("state")
            parts.append(.place(expression, inner))
            rest = rest[rest.index(after: close)...]
        }
        parts.append(.text(literal + rest))
        self.parts = parts
        readsState = reads
        try check(text, source)
    }

    private static func expression(_ text: String, _ source: LocatedValue) throws(SourceError) -> Expression {
        let words = ["store.name": "name", "store.type": "type"]
        return try Expression.compile(
            text: words[text] ?? text, names: .only(EffectValue.names), at: source.place)
    }

    private func check(_ text: String, _ source: LocatedValue) throws(SourceError) {
        for case .text(let literal) in parts {
            if let wrong = literal.unicodeScalars.first(where: { !Self.isValid($0) }) {
                throw source.failure(
                    "`\(text)` is not a unit's name: `\(wrong)` can't stand in one; write letters, digits and :-_.\\@."
                )
            }
        }
        guard case .text(let end)? = parts.last,
            Self.kinds.contains(where: { end.hasSuffix(".\($0)") }), text.utf8.count <= Self.longest
        else {
            throw source.failure("`\(text)` is not a unit's name; end it with its kind, such as .service.")
        }
        guard parts.count > 1, case .text(let start) = parts[0] else { return }
        guard let at = start.firstIndex(of: "@"), at > start.startIndex else {
            throw source.failure(
                "`\(text)` lets an event choose the unit; put {…} behind an @, as in alarm@{store.name}.service."
            )
        }
    }

    /// The unit for an event. A refusal is a clause.
    package func name(on data: JSON) throws(EffectRefusal) -> String {
        var name = ""
        for part in parts {
            switch part {
            case .text(let literal): name += literal
            case .place(let expression, let text):
                let value = try EffectRefusal.evaluating("{\(text)}") { () throws(EvaluationFailure) in
                    try expression.evaluate(on: data)
                }
                let filled = try EffectRefusal.text(value, of: "{\(text)}")
                guard !filled.isEmpty, filled.unicodeScalars.allSatisfy(Self.isValid) else {
                    throw EffectRefusal("{\(text)} has characters that no unit's name may have")
                }
                name += filled
            }
        }
        guard name.utf8.count <= Self.longest else {
            throw EffectRefusal("the unit's name is longer than \(Self.longest) bytes")
        }
        return name
    }

    private static func isValid(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ":", "-", "_", ".", "\\", "@": true
        default: false
        }
    }
}

/// Why an event can't be handled, whenever it is tried: a clause for a sentence.
package struct EffectRefusal: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }

    static func evaluating<Value>(
        _ what: String, _ body: () throws(EvaluationFailure) -> Value
    ) throws(EffectRefusal) -> Value {
        do throws(EvaluationFailure) {
            return try body()
        } catch {
            throw EffectRefusal("\(what) has no value: \(error.description)")
        }
    }

    /// A text, or the one of a number or a truth value.
    static func text(_ value: JSON, of what: String) throws(EffectRefusal) -> String {
        switch value {
        case .string(let text): return text
        case .int, .double, .bool: return value.encoded
        default: throw EffectRefusal("\(what) is \(value.kind), and not a text")
        }
    }
}
