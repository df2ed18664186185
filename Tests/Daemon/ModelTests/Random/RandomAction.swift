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
        _ members: [String: [String]], _ hasSchema: Bool, _ other: String?, _ isTimed: Bool,
        _ random: inout SeededGenerator
    ) -> JSON {
        var expressions = RandomExpressions(members: members)
        expressions.payload = Dictionary(uniqueKeysWithValues: payload.map { ($0.name, $0.kind) })
        expressions.other = other
        expressions.isTimed = isTimed
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
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let (kind, path, value) = write(members, hasSchema, expressions, &random)
            if let value {
                var steps = action[kind]?.object ?? [:]
                steps[path] = value
                action[kind] = .object(steps)
            } else {
                let steps = action[kind]?.array ?? []
                if !steps.contains(.string(path)) { action[kind] = .array(steps + [.string(path)]) }
            }
        }
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

    /// One write: its kind, its path, and the rule of its value where it has one.
    private static func write(
        _ members: [String: [String]], _ hasSchema: Bool, _ expressions: RandomExpressions,
        _ random: inout SeededGenerator
    ) -> (String, String, JSON?) {
        let kind = members.keys.sorted().randomElement(using: &random)!
        let member = members[kind]!.randomElement(using: &random)!
        let depth = Int.random(in: 0...2, using: &random)
        switch (kind, Int.random(in: 0..<6, using: &random)) {
        case ("integer", 0...2): return ("increment", member, integer(expressions, depth, &random))
        case ("integer", _): return ("set", member, integer(expressions, depth, &random))
        case ("number", 0...1): return ("increment", member, expressions.number(depth, &random))
        case ("number", _): return ("set", member, expressions.number(depth, &random))
        case ("text", _): return ("set", member, expressions.text(depth, &random))
        case ("boolean", 0...2): return ("toggle", member, nil)
        case ("boolean", _): return ("set", member, ["!!": [expressions.integer(depth, &random)]])
        case ("list", 0...1): return ("append", member, expressions.integer(depth, &random))
        case ("list", 2): return ("remove", member, expressions.integer(depth, &random))
        case ("list", 3):
            return ("set", "\(member).{payload.x}", expressions.integer(depth, &random))
        case ("list", 4):
            return ("unset", "\(member).{payload.x}", nil)
        case ("list", _): return ("set", member, expressions.list(depth, &random))
        case ("map", 0...1):
            return ("set", "\(member).{payload.k}", integer(expressions, depth, &random))
        case ("map", 2):
            return ("unset", "\(member).{payload.k}", nil)
        case ("map", 3):
            return ("increment", "\(member).{payload.k}", integer(expressions, depth, &random))
        case ("map", _):
            return ("merge", member, ["var": "payload.o"])
        case ("record", 0): return ("set", "\(member).p", expressions.integer(depth, &random))
        case ("record", 1): return ("set", "\(member).q", expressions.text(depth, &random))
        case ("record", 2): return ("unset", "\(member).q", nil)
        case ("record", _):
            return (
                "set", member, ["p": expressions.integer(depth, &random), "q": expressions.text(0, &random)]
            )
        case (_, 0) where !hasSchema: return ("unset", member, nil)
        case (_, 1) where !hasSchema:
            return ("set", "{payload.k}", expressions.any(depth, &random))
        default: return ("set", member, expressions.any(depth, &random))
        }
    }

    /// An integer to be written. One that is constant and outside of every schema is added to something that is read: definitions
    /// that write what never fits are refused.
    private static func integer(
        _ expressions: RandomExpressions, _ depth: Int, _ random: inout SeededGenerator
    ) -> JSON {
        let rule = expressions.integer(depth, &random)
        guard let whole = (try? ModelExpression.evaluate(rule, on: .null))?.int, !(-50...90 ~= whole) else {
            return rule
        }
        return ["+": [rule, ["*": [["var": "state.n"], 0]]]]
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
            payload[need.key] = need.value == "any" ? 5 : RandomRequests.fitting(need.value, &random)
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
