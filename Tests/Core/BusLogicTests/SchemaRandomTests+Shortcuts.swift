import BusJSON
import BusLogic
import TestSupport
import Testing

/// A write is not checked if the schema of its value implies the member's. Such a write never breaks the member's schema,
/// whatever the two schemas are and wherever the value comes from.
extension SchemaRandomTests {
    /// A schema that differs from another in a few words, so that one often implies the other.
    private func variant(of schema: JSON, _ generator: inout SeededGenerator) -> JSON {
        guard var words = schema.object, !generator.oneIn(12) else { return self.schema(2, &generator) }
        if generator.oneIn(6) { words["nullable"] = words["nullable"] == nil ? true : nil }
        switch words["type"]?.string {
        case "integer", "number":
            if generator.oneIn(4) { words["type"] = generator.oneIn(2) ? "integer" : "number" }
            if generator.oneIn(3) { words["maximum"] = bound(0...3, &generator) }
            if generator.oneIn(3) { words["minimum"] = bound(-3...0, &generator) }
            if generator.oneIn(4) { words["exclusiveMaximum"] = bound(1...3, &generator) }
            if generator.oneIn(4) { words["exclusiveMinimum"] = bound(-3...(-1), &generator) }
        case "string":
            if generator.oneIn(3) { words["maxLength"] = bound(2...3, &generator) }
            if generator.oneIn(3) { words["minLength"] = bound(0...1, &generator) }
        case "array":
            if generator.oneIn(3) { words["maxItems"] = bound(1...3, &generator) }
            if generator.oneIn(4) { words["minItems"] = bound(0...1, &generator) }
            if generator.oneIn(4) { words["uniqueItems"] = words["uniqueItems"] == nil ? true : nil }
            if generator.oneIn(3) { words["items"] = words["items"].map { variant(of: $0, &generator) } }
        case "object": vary(&words, &generator)
        default:
            if let union = words["type"]?.array, generator.oneIn(2) {
                words["type"] =
                    generator.oneIn(2)
                    ? union.first : .array(union + ["string", "number"].filter { !union.contains($0) })
            }
            if let choices = words["enum"]?.array, choices.count > 1, generator.oneIn(3) {
                words["enum"] = .array(Array(choices.dropLast()))
            }
        }
        return .object(words)
    }

    private func bound(_ range: ClosedRange<Int>, _ generator: inout SeededGenerator) -> JSON? {
        generator.oneIn(3) ? nil : .int(Int.random(in: range, using: &generator))
    }

    private func vary(_ words: inout JSONObject, _ generator: inout SeededGenerator) {
        if let values = words["values"] {
            words["values"] = generator.oneIn(6) ? nil : variant(of: values, &generator)
        }
        guard var properties = words["properties"]?.object else { return }
        if generator.oneIn(8) {
            (words["properties"], words["required"]) = (nil, nil)
            if generator.oneIn(2) { words["values"] = properties.members.first?.value }
            return
        }
        for key in properties.keys {
            if generator.oneIn(3) { properties[key] = variant(of: properties[key] ?? "any", &generator) }
            if generator.oneIn(10) { properties[key] = nil }
        }
        words["properties"] = .object(properties)
        var required = (words["required"]?.array ?? []).compactMap(\.string).filter {
            properties[$0] != nil && !generator.oneIn(6)
        }
        for key in properties.keys where !required.contains(key) && generator.oneIn(6) {
            required.append(key)
        }
        words["required"] = .array(required.map { .string($0) })
    }

    /// The schema of an object with a member `a` of this schema, required or not.
    private func holder(of schema: JSON, _ generator: inout SeededGenerator) -> JSON {
        var words: JSONObject = ["type": "object", "properties": ["a": schema]]
        if generator.oneIn(2) { words["required"] = ["a"] }
        if generator.oneIn(4) { words["nullable"] = true }
        return .object(words)
    }

    /// What `m0` is set to, or what is appended to it.
    private static let values: [JSON] = [
        ["var": "payload.v"], ["var": ["payload.v", "other"]], ["var": "payload.h.a"],
        ["var": ["payload.h.a", 2]], ["var": "state.m1"], ["var": "state.m2.a"],
        ["var": ["state.m2.a", true]], ["+": [["var": "payload.v"], 1]],
        ["*": [["var": "payload.v"], ["var": "state.m1"]]], ["-": ["var": "payload.v"]],
        ["/": [["var": "payload.v"], 2]], ["%": [["var": "payload.v"], 2]],
        ["max": [["var": "payload.v"], 1]],
        ["cat": [["var": "payload.v"], "x"]], ["length": ["var": "payload.v"]], ["!": ["var": "payload.v"]],
        ["map": [["var": "payload.v"], 1]], ["if": [["var": "payload.v"], 1, "a"]],
        ["or": [["var": "payload.v"], 0]],
    ]

    private func action(
        _ value: JSON, _ payload: JSONObject, _ schema: JSON, _ generator: inout SeededGenerator
    ) -> JSON {
        var body: JSONObject = ["payload": .object(payload)]
        switch schema["type"]?.string {
        case "array" where generator.oneIn(3): body["append"] = ["m0": value]
        case "integer" where generator.oneIn(3), "number" where generator.oneIn(3):
            body["increment"] = ["m0": value]
        case "object" where generator.oneIn(3): body["set"] = ["m0.a": value]
        default: body["set"] = ["m0": value]
        }
        return .object(body)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func whatIsNotCheckedCanNotBreakTheSchema(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var verdicts = Verdicts()
        var unchecked = 0
        for _ in 0..<10 { unchecked += try shortcut(&generator, &verdicts) }
        #expect(
            verdicts.accepted > 100 && verdicts.refused > 20 && unchecked > 5,
            "Seed \(seed): \(verdicts), \(unchecked) of them unchecked")
    }

    private func shortcut(_ generator: inout SeededGenerator, _ verdicts: inout Verdicts) throws -> Int {
        let wanted = schema(3, &generator)
        let part = wanted["items"] ?? wanted["properties"]?["a"] ?? wanted["values"] ?? wanted
        let near = generator.oneIn(3) ? part : wanted
        let schemas: JSONObject = [
            "m0": wanted, "m1": variant(of: near, &generator),
            "m2": holder(of: variant(of: near, &generator), &generator),
        ]
        var initial = JSONObject()
        for member in schemas.members {
            guard let value = start(member.value, &generator) else { return 0 }
            initial[member.key] = value
        }
        var given = variant(of: near, &generator)
        let held = holder(of: variant(of: near, &generator), &generator)
        let plain = given
        if generator.oneIn(4), var words = given.object {
            words["optional"] = true
            given = .object(words)
        }
        var actions = JSONObject()
        for (number, value) in Self.values.enumerated() {
            var payload = JSONObject()
            if value.encoded.contains("payload.v") { payload["v"] = given }
            if value.encoded.contains("payload.h") { payload["h"] = held }
            actions["act\(number)"] = action(value, payload, wanted, &generator)
        }
        for name in ["m1", "m2"] {
            actions["change-\(name)"] = [
                "payload": [name: "any"], "set": [name: ["var": .string("payload.\(name)")]],
            ]
        }
        let definition: JSONObject = [
            "type": "random", "initial": .object(initial), "actions": .object(actions),
        ]
        var shaped = definition
        shaped["state"] = .object(schemas)
        let checked = StoreBench(try DeclaredType(definition: .object(shaped)))
        let free = StoreBench(try DeclaredType(definition: .object(definition)))
        for _ in 0..<4 {
            for name in checked.type.actionNames {
                var payload: JSONObject = [
                    "v": value(plain, &generator), "h": value(held, &generator),
                    "m1": value(schemas["m1"] ?? "any", &generator),
                    "m2": value(schemas["m2"] ?? "any", &generator),
                ]
                if generator.oneIn(4) { payload["v"] = nil }
                for key in ["h", "m2"] where generator.oneIn(4) { payload[key] = .null }
                let index = try #require(checked.type.actionNames.firstIndex(of: name))
                let taken = checked.type.payloadMembers(of: index).map(\.name)
                for key in payload.keys where !taken.contains(key) { payload[key] = nil }
                try compare(checked, free, schemas, name, payload, &verdicts)
            }
        }
        return checked.planned
    }
}
