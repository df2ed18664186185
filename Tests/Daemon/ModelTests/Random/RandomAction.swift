import BusJSON
import TestSupport

/// Random actions.
enum RandomAction {
    /// What a payload may have, by name: its kind, and schemas for it.
    private static let payload: [(name: String, kind: String, schemas: [JSON])] = [
        (
            "i", "integer",
            [
                "integer", ["type": "integer", "default": 1],
                ["type": "integer", "minimum": -5, "maximum": 9],
            ]
        ),
        ("f", "number", ["number", ["type": "number", "default": 0.5]]),
        ("s", "text", ["string", ["type": "string", "default": "ab"], ["enum": ["a", "b", "zz"]]]),
        ("b", "boolean", ["boolean", ["type": "boolean", "default": true]]),
        (
            "l", "list",
            [["type": "array", "items": "integer"], ["type": "array", "items": "integer", "default": []]]
        ),
        ("v", "any", ["any", "any?"]),
        ("k", "key", ["string", ["type": "string", "default": "k1"]]),
        ("x", "index", ["integer", ["type": "integer", "default": 0]]),
        ("o", "object", ["object", ["type": "object", "default": ["k2": 2]]]),
    ]

    static func definition(
        _ given: RandomExpressions, hasSchema: Bool, _ random: inout SeededGenerator
    ) -> JSON {
        var expressions = given
        expressions.payload = Dictionary(uniqueKeysWithValues: payload.map { ($0.name, $0.kind) })
        var action = JSONObject()
        if random.oneIn(4) { action["when"] = expressions.condition(2, &random) }
        if random.oneIn(4) {
            action["require"] = [
                [
                    "if": expressions.condition(2, &random),
                    "else": random.oneIn(2) ? "no" : expressions.text(1, &random),
                ]
            ]
        }
        let writes = RandomWrites(expressions: expressions, hasSchema: hasSchema)
        writes.add(Int.random(in: 0...4, using: &random), to: &action, &random)
        if random.oneIn(5) { action["patch"] = writes.patch(&random) }
        if random.oneIn(4) { action["each"] = writes.each(1, &random) }
        if random.oneIn(3) { action["returns"] = expressions.any(2, &random) }
        var schemas = JSONObject()
        let text = JSON.object(action).encoded
        for member in payload
        where text.contains("payload.\(member.name)\"") || text.contains("payload.\(member.name)}") {
            schemas[member.name] = member.schemas.randomElement(using: &random)!
        }
        if random.oneIn(3) { schemas["note"] = "string?" }
        if !schemas.isEmpty { action["payload"] = .object(schemas) }
        return .object(action)
    }

    /// Actions of which some set timers for others.
    static func withTimers(_ actions: JSONObject, _ random: inout SeededGenerator) -> JSONObject {
        var result = actions
        for member in actions where random.oneIn(4) {
            var timer = Self.timer(actions, &random)
            timer["in"] = .string("\(Int.random(in: 1...90, using: &random))s")
            if random.oneIn(3) { timer["in"] = ["*": [["var": "state.n"], 1]] }
            if random.oneIn(4) {
                timer["every"] = .string("\(Int.random(in: 5...90, using: &random))s")
                if random.oneIn(2) { timer["in"] = nil }
            }
            var action = member.value.object ?? [:]
            let name = ["x", "y", "x" + ModelType.nameExpression].randomElement(using: &random)!
            action["timers"] = .object([name: random.oneIn(5) ? .null : .object(timer)])
            result[member.key] = .object(action)
        }
        return result
    }

    /// A timer that a type has of itself.
    static func ofType(
        _ actions: JSONObject, _ expressions: RandomExpressions, _ random: inout SeededGenerator
    ) -> JSON {
        var timer = Self.timer(actions, &random)
        timer["for"] = .string("\(Int.random(in: 1...60, using: &random))s")
        timer["while"] =
            random.oneIn(2)
            ? ["<": [["var": "n"], .int(Int.random(in: 0...20, using: &random))]]
            : expressions.condition(1, &random)
        return .object(timer)
    }

    /// One of the actions, with what it needs, as a timer has it.
    private static func timer(_ actions: JSONObject, _ random: inout SeededGenerator) -> JSONObject {
        let due = actions.members.randomElement(using: &random)!
        // What the action needs must stand in the timer's payload.
        let needs = (due.value["payload"]?.object ?? [:]).filter {
            $0.value["default"] == nil && $0.value.string?.hasSuffix("?") != true
        }
        var payload = JSONObject()
        for need in needs {
            var value = need.value == "any" ? 5 : RandomRequests.fitting(need.value, &random)
            // One that does not fit would keep stores from beginning.
            if let least = need.value["minimum"]?.int { value = .int(max(least, value.int ?? least)) }
            if let most = need.value["maximum"]?.int { value = .int(min(most, value.int ?? most)) }
            payload[need.key] = value
        }
        var timer: JSONObject = ["action": .string(due.key)]
        if !payload.isEmpty { timer["payload"] = .object(payload.quoted) }
        return timer
    }
}

extension JSONObject {
    /// Members that are meant as they stand, in a place for expressions.
    fileprivate var quoted: JSONObject {
        var result = JSONObject()
        for member in self { result[member.key] = ["literal": member.value] }
        return result
    }
}
