import BusJSON
import BusLogic
import BusSource

/// A value of an effect's file, in which a text that begins with `=` is an expression over the event.
package indirect enum EffectValue: Sendable {
    case constant(JSON)
    case expression(Expression)
    case array([EffectValue])
    case object([(key: String, value: EffectValue)])

    /// What expressions know of an event.
    package static let names = [
        "store", "type", "name", "action", "payload", "state", "by", "time", "revision", "effect",
    ]

    /// The names whose values are texts.
    static let texts = ["store", "type", "name", "action", "effect"]

    /// - Parameter names: What expressions know: of an event, or of a request.
    package static func compile(
        _ source: LocatedValue, names: [String] = names
    ) throws(SourceError) -> EffectValue {
        switch source.content {
        case .scalar(.string(let text)) where text.utf8.first == UInt8(ascii: "="):
            return .expression(
                try Expression.compile(text: text, names: .only(names, texts: texts), at: source.place))
        case .scalar(let value): return .constant(value)
        case .array(let elements):
            var values: [EffectValue] = []
            for element in elements { values.append(try compile(element, names: names)) }
            return .array(values)
        case .object(let object):
            var members: [(key: String, value: EffectValue)] = []
            for member in object.members {
                members.append((member.key, try compile(member.value, names: names)))
            }
            return .object(members)
        }
    }

    /// The condition `if`. `what` it reads: "event".
    package static func condition(
        _ source: LocatedValue, names: [String], on what: String
    ) throws(SourceError) -> Expression {
        let condition = try Expression.compile(
            text: try source.string("if"), isCondition: true, names: .only(names, texts: texts),
            at: source.place)
        if let constant = condition.constant {
            throw source.failure(
                "This condition is always \(constant == true ? "true" : "false"); let it read the \(what), or leave it out."
            )
        }
        return condition
    }

    /// - Parameter data: The event, as `EffectEvent.data` gives it.
    package func value(on data: JSON) throws(EvaluationFailure) -> JSON {
        switch self {
        case .constant(let value): return value
        case .expression(let expression): return try expression.evaluate(on: data)
        case .array(let elements):
            var values: [JSON] = []
            for element in elements { values.append(try element.value(on: data)) }
            return .array(values)
        case .object(let members):
            var object = JSONObject()
            for (key, value) in members { object[key] = try value.value(on: data) }
            return .object(object)
        }
    }

    /// Its value as a text. A refusal is a clause about `what`.
    package func text(on data: JSON, _ what: String) throws(EffectRefusal) -> String {
        let json = try EffectRefusal.evaluating(what) { () throws(EvaluationFailure) in try value(on: data) }
        return try EffectRefusal.text(json, of: what)
    }

    /// Whether an expression in it reads the state of the store.
    var readsState: Bool {
        switch self {
        case .constant: false
        case .expression(let expression): expression.reads.contains("state")
        case .array(let elements): elements.contains(where: \.readsState)
        case .object(let members): members.contains { $0.value.readsState }
        }
    }
}
