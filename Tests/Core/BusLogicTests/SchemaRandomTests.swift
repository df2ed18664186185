import BusJSON
import BusLogic
import BusProtocol
import BusState
import TestSupport
import Testing

/// Checking only what was written comes to the same verdict as checking the whole state afterwards, whatever the
/// schemas and the writes are.
struct SchemaRandomTests {
    static let keys = ["a", "b", "c"]

    /// A random schema, not deeper than so many levels.
    func schema(_ depth: Int, _ generator: inout SeededGenerator) -> JSON {
        var words = JSONObject()
        func count() -> JSON { .int(Int.random(in: 1...3, using: &generator)) }
        switch Int.random(in: 0..<(depth > 0 ? 11 : 7), using: &generator) {
        case 0: words["type"] = "any"
        case 1: words["type"] = "boolean"
        case 2:
            words["type"] = generator.oneIn(2) ? "integer" : "number"
            if generator.oneIn(2) { words["maximum"] = .int(Int.random(in: 0...3, using: &generator)) }
            if generator.oneIn(2) { words["minimum"] = .int(Int.random(in: -3...0, using: &generator)) }
            if generator.oneIn(4) {
                words["exclusiveMaximum"] = .int(Int.random(in: 1...3, using: &generator))
            }
            if generator.oneIn(4) {
                words["exclusiveMinimum"] = .int(Int.random(in: -3...(-1), using: &generator))
            }
        case 3:
            words["type"] = "string"
            if generator.oneIn(2) { words["maxLength"] = count() }
        case 4: words["enum"] = [1, "a", true, ["a": 1], [1, 2]]
        case 5:
            let unions: [JSON] = [
                ["string", "integer"], ["array", "null"], ["object", "array", "boolean"],
            ]
            words["type"] = generator.oneIn(2) ? "integer" : unions.randomElement(using: &generator)
            if generator.oneIn(4), words["type"] == unions[1] { words["minItems"] = 1 }
        case 6: words["const"] = [1, "a", ["a": 1]].randomElement(using: &generator)
        case 7:
            words["type"] = "array"
            if generator.oneIn(2) { words["maxItems"] = count() }
            if generator.oneIn(4) { words["minItems"] = generator.oneIn(2) ? 1 : 0 }
            if generator.oneIn(4) { words["uniqueItems"] = true }
            if !generator.oneIn(4) { words["items"] = schema(depth - 1, &generator) }
        case 8:
            words["type"] = "object"
            words["values"] = schema(depth - 1, &generator)
        case 9: words["type"] = generator.oneIn(2) ? "object" : "array"
        default:
            var properties = JSONObject()
            for key in Self.keys where generator.oneIn(2) { properties[key] = schema(depth - 1, &generator) }
            words["type"] = "object"
            words["required"] = .array(properties.keys.filter { _ in generator.oneIn(2) }.map { .string($0) })
            words["properties"] = .object(properties)
        }
        if generator.oneIn(4) { words["nullable"] = true }
        return .object(words)
    }

    /// A value that often fits a schema.
    func value(_ schema: JSON, _ generator: inout SeededGenerator) -> JSON {
        if generator.oneIn(12) { return randomValue(&generator) }
        if let choices = schema["enum"]?.array { return choices.randomElement(using: &generator) ?? .null }
        if let value = schema["const"] { return value }
        let union = schema["type"]?.array?.compactMap(\.string)
        switch union?.randomElement(using: &generator) ?? schema["type"]?.string {
        case "null": return .null
        case "boolean": return .bool(generator.oneIn(2))
        case "integer": return .int(Int.random(in: -2...3, using: &generator))
        case "number": return generator.oneIn(2) ? 0.5 : .int(Int.random(in: -2...3, using: &generator))
        case "string": return .string(String(repeating: "x", count: Int.random(in: 0...3, using: &generator)))
        case "array":
            return .array(
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    value(schema["items"] ?? "any", &generator)
                })
        case "object":
            var object = JSONObject()
            for key in Self.keys {
                guard let properties = schema["properties"]?.object else {
                    if generator.oneIn(2) { object[key] = value(schema["values"] ?? "any", &generator) }
                    continue
                }
                let isRequired = schema["required"]?.array?.contains(.string(key)) == true
                guard let inner = properties[key], isRequired || generator.oneIn(2) else { continue }
                object[key] = value(inner, &generator)
            }
            return .object(object)
        default: return randomValue(&generator)
        }
    }

    func randomValue(_ generator: inout SeededGenerator) -> JSON {
        let values: [JSON] = [
            .null, true, 0, 1, 5, 1.5, "", "a", "long text", [], [1, 2], [:], ["a": 1], ["b": .null],
            ["a": ["a": 1]],
        ]
        return values.randomElement(using: &generator) ?? .null
    }

    /// A value that surely fits, or nil after many attempts.
    func start(_ schema: JSON, _ generator: inout SeededGenerator) -> JSON? {
        for _ in 0..<200 {
            let value = value(schema, &generator)
            if SchemaOracle.fits(value, schema) { return value }
        }
        return nil
    }

    /// A path that mostly leads somewhere, and the schema of what stands there.
    private func path(
        _ generator: inout SeededGenerator, _ schemas: JSONObject
    ) -> (path: String, schema: JSON) {
        let names = schemas.keys
        guard !generator.oneIn(10), let name = names.randomElement(using: &generator) else {
            return (generator.oneIn(2) ? "{payload.k}" : "loose", "any")
        }
        var path = name
        var schema = schemas[name] ?? "any"
        for _ in 0..<3 where generator.oneIn(2) {
            let type = schema["type"]?.string
            let key =
                type == "array"
                ? ["0", "1", "2", "{payload.k}"].randomElement(using: &generator)
                : type == "object" || generator.oneIn(8)
                    ? (Self.keys + ["{payload.k}"]).randomElement(using: &generator) : nil
            guard let key else { break }
            path += "." + key
            schema = schema["items"] ?? schema["values"] ?? schema["properties"]?[key] ?? "any"
        }
        return (path, schema)
    }

    private func kind(of schema: JSON, _ generator: inout SeededGenerator) -> WriteKind {
        if generator.oneIn(8) { return WriteKind.allCases.randomElement(using: &generator) ?? .set }
        let kinds: [WriteKind] =
            switch schema["type"]?.string {
            case "boolean": [.set, .toggle]
            case "integer", "number": [.set, .increment]
            case "array": [.set, .append, .append, .remove, .unset]
            case "object": [.set, .merge, .merge, .unset]
            default: [.set, .unset]
            }
        return kinds.randomElement(using: &generator) ?? .set
    }

    /// Actions of one to three writes of any kinds.
    private func actions(_ generator: inout SeededGenerator, _ schemas: JSONObject) -> JSONObject {
        var actions = JSONObject()
        for number in 0..<20 {
            let types = ["any", "any", "integer", "number", "string", "object", "array", "integer?"]
            var body: JSONObject = [
                "payload": ["k": "any", "v": .string(types.randomElement(using: &generator) ?? "any")]
            ]
            for _ in 0..<(generator.oneIn(3) ? Int.random(in: 2...3, using: &generator) : 1) {
                let (path, schema) = path(&generator, schemas)
                let kind = kind(of: schema, &generator)
                guard kind.takesValue else {
                    body[kind.rawValue] = .array((body[kind.rawValue]?.array ?? []) + [.string(path)])
                    continue
                }
                let wanted = kind == .append || kind == .remove ? schema["items"] ?? "any" : schema
                let literal: JSON = kind == .merge ? randomPatch(&generator) : value(wanted, &generator)
                var writes = body[kind.rawValue]?.array ?? []
                writes.append(
                    .object([path: generator.oneIn(2) ? ["literal": literal] : ["var": "payload.v"]]))
                body[kind.rawValue] = .array(writes)
            }
            actions["act\(number)"] = .object(body)
        }
        return actions
    }

    private func randomPatch(_ generator: inout SeededGenerator) -> JSON {
        var patch = JSONObject()
        for key in Self.keys where generator.oneIn(2) { patch[key] = randomValue(&generator) }
        return .object(patch)
    }

    struct Verdicts {
        var accepted = 0
        var refused = 0
    }

    @Test(arguments: Seeds.some(40 as UInt64))
    func checkingWhatWasWrittenIsEnough(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var verdicts = Verdicts()
        for _ in 0..<12 { try run(&generator, &verdicts) }
        #expect(verdicts.accepted > 100 && verdicts.refused > 50, "Seed \(seed): \(verdicts)")
    }

    private func run(_ generator: inout SeededGenerator, _ verdicts: inout Verdicts) throws {
        var schemas = JSONObject()
        var initial = JSONObject()
        for number in 0..<4 {
            let schema = schema(3, &generator)
            guard let value = start(schema, &generator) else { continue }
            schemas["m\(number)"] = schema
            initial["m\(number)"] = value
        }
        initial["loose"] = 0
        let definition: JSONObject = [
            "type": "random", "initial": .object(initial), "actions": .object(actions(&generator, schemas)),
        ]
        var shaped = definition
        shaped["state"] = .object(schemas)
        let checked = StoreBench(try DeclaredType(definition: .object(shaped)))
        let free = StoreBench(try DeclaredType(definition: .object(definition)))
        for _ in 0..<80 {
            let action = try #require(checked.type.actionNames.randomElement(using: &generator))
            let index = try #require(checked.type.actionNames.firstIndex(of: action))
            let type = checked.type.payloadSchema(of: index)?.member("v")?.type.rawValue ?? "any"
            let keys: [JSON] = ["a", "b", "c", "0", 0, 1, 2, "m0", "m1", "new"]
            let payload: JSONObject = [
                "k": keys.randomElement(using: &generator) ?? "a",
                "v": value(["type": .string(type)], &generator),
            ]
            try compare(checked, free, schemas, action, payload, &verdicts)
        }
    }

    /// Dispatches to a type with schemas and to the same one without: what the first refuses and the second does not
    /// breaks the schemas.
    func compare(
        _ checked: StoreBench, _ free: StoreBench, _ schemas: JSONObject, _ action: String,
        _ payload: JSONObject, _ verdicts: inout Verdicts
    ) throws {
        free.state = checked.state
        do {
            try free.dispatch(action, payload)
        } catch is Rejection {
            #expect(throws: Rejection.self) { try checked.dispatch(action, payload) }
            return
        } catch is PayloadFailure {
            return
        }
        let isNamed = free.state.keys.allSatisfy { checked.type.initial[$0] != nil }
        if isNamed, SchemaOracle.fits(state: free.state, schemas) {
            // A write to a member that nothing names is refused at once, also where the action takes it away again.
            let taken = checked.type.definition["actions"]?[action]?["unset"]?.array ?? []
            if taken.contains("{payload.k}") {
                do {
                    try checked.dispatch(action, payload)
                } catch let rejection as Rejection {
                    #expect(rejection.message.contains("is in neither initial nor state"))
                    #expect(rejection.path.map { checked.type.initial[$0] == nil } == true)
                    verdicts.refused += 1
                    return
                }
            } else {
                try checked.dispatch(action, payload)
            }
            #expect(checked.state == free.state)
            verdicts.accepted += 1
        } else {
            let rejection = try checked.rejection(of: action, payload)
            #expect(rejection.path != nil, "\(rejection.message)")
            verdicts.refused += 1
        }
    }
}
