import BusJSON
import BusLogic
import BusSource

/// A text with places that an event fills: `alarm@{store.name}.service`. Who uses one decides what may stand in a place.
struct TextTemplate: Sendable {
    private enum Part: Sendable {
        case text(String)
        case place(Expression, String)
    }

    private let parts: [Part]
    let readsState: Bool

    init(_ text: String, _ source: LocatedValue) throws(SourceError) {
        var (parts, reads): ([Part], Bool) = ([], false)
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw source.failure("`\(text)` has a { without its }; write {store.name}.")
            }
            parts.append(.text(String(rest[..<open])))
            let inner = String(rest[rest.index(after: open)..<close])
            let expression = try Self.expression(inner, source)
            reads = reads || expression.reads.contains("state")
            parts.append(.place(expression, inner))
            rest = rest[rest.index(after: close)...]
        }
        parts.append(.text(String(rest)))
        self.parts = parts
        readsState = reads
    }

    private static func expression(_ text: String, _ source: LocatedValue) throws(SourceError) -> Expression {
        let words = ["store.name": "name", "store.type": "type"]
        return try Expression.compile(
            text: words[text] ?? text, names: .only(EffectValue.names, texts: EffectValue.texts),
            at: source.place)
    }

    /// What stands before, between and behind the places.
    var literals: [String] {
        parts.compactMap { part in
            if case .text(let literal) = part { literal } else { nil }
        }
    }

    /// The text for an event. A refusal is a clause.
    ///
    /// - Parameter fill: Makes what stands in a place of its value, or refuses that, with the name of the place.
    func text(
        on data: JSON, _ fill: (String, String) throws(EffectRefusal) -> String
    ) throws(EffectRefusal) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .text(let literal): text += literal
            case .place(let expression, let inner):
                let value = try EffectRefusal.evaluating("{\(inner)}") { () throws(EvaluationFailure) in
                    try expression.evaluate(on: data)
                }
                text += try fill(EffectRefusal.text(value, of: "{\(inner)}"), "{\(inner)}")
            }
        }
        return text
    }
}

/// Why an event can't be handled, whenever it is tried: a clause for a sentence.
package struct EffectRefusal: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }

    package static func evaluating<Value>(
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
        case .null: throw EffectRefusal("\(what) is null, and not a text")
        case .array: throw EffectRefusal("\(what) is a list, and not a text")
        case .object: throw EffectRefusal("\(what) is an object, and not a text")
        }
    }
}
