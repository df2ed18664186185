import BusJSON
import TestSupport

/// Random state types: members of every kind, schemas, computed values, actions with every write, timers, leases, and types
/// that wait for others.
struct RandomTypes {
    static let actionNames = ["act", "bump", "wipe", "work", "edit"]
    static let kinds = ["integer", "number", "text", "boolean", "list", "map", "record", "any"]

    private(set) var definitions: [JSON] = []

    /// - Parameter isTimed: With timers, leases and the time in expressions.
    init(isTimed: Bool = true, _ random: inout SeededGenerator) {
        let count = Int.random(in: 1...3, using: &random)
        for index in 0..<count {
            let waits = index > 0 && random.oneIn(2) ? "t0" : nil
            definitions.append(Self.definition("t\(index)", waitingFor: waits, isTimed, &random))
        }
    }

    /// Another definition of the same type: what a reload may bring.
    static func changed(_ definition: JSON, _ random: inout SeededGenerator) -> JSON {
        var next = definition.object ?? [:]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: next["summary"] = .string("Summary \(Int.random(in: 0..<9, using: &random)).")
        case 1 where definition["state"] == nil:
            var initial = next["initial"]?.object ?? [:]
            initial["gained\(Int.random(in: 0..<3, using: &random))"] = 7
            next["initial"] = .object(initial)
        case 2:
            var computed = next["computed"]?.object ?? [:]
            computed["c9"] = ["+": [["var": "n"], .int(Int.random(in: 1...9, using: &random))]]
            next["computed"] = .object(computed)
        case 3:
            let version = definition["version"]?.int ?? 1
            next["version"] = .int(version + 1)
            var steps = next["migrate"]?.object ?? [:]
            steps["\(version)"] = migration(definition["let"], &random)
            next["migrate"] = .object(steps)
        case 4 where definition["timers"] != nil && random.oneIn(2):
            var timers = next["timers"]?.object ?? [:]
            timers["q"] = random.oneIn(3) ? nil : timers["q"]
            var other = timers.members.first?.value.object
            other?["while"] = ["<": [["var": "n"], .int(Int.random(in: 0...20, using: &random))]]
            timers["z"] = other.map(JSON.object)
            next["timers"] = timers.isEmpty ? nil : .object(timers)
        case 4 where random.oneIn(2): next["index"] = next["index"] == nil ? "n" : nil
        case 4: next["version"] = .int((definition["version"]?.int ?? 1) - (random.oneIn(2) ? 1 : 0))
        default: break
        }
        if next["version"]?.int ?? 1 < 1 { next["version"] = nil }
        return .object(next)
    }

    /// A step from one version to the next.
    private static func migration(_ names: JSON?, _ random: inout SeededGenerator) -> JSON {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return ["increment": ["n": 1], "toggle": ["n"]]
        case 1:
            let name = names?["w1"] == nil ? "state.n" : "w1"
            return ["set": ["n": ["%": [["+": [["var": .string(name)], 1]], 40]]]]
        case 2:
            let range: JSON = [
                "if": [["<": [["var": "state.n"], 5]], ["literal": [1, 2]], ["literal": [3]]]
            ]
            return ["each": ["in": range, "as": "e", "increment": ["n": ["var": "e"]]]]
        default: return ["patch": ["object": ["n": ["%": [["var": "state.n"], 40]]]]]
        }
    }

    private static func definition(
        _ name: String, waitingFor other: String?, _ isTimed: Bool, _ random: inout SeededGenerator
    )
        -> JSON
    {
        var members: [String: [String]] = ["integer": ["n"]]
        var initial: JSONObject = ["n": .int(Int.random(in: 0...9, using: &random))]
        var schemas: JSONObject = ["n": ["type": "integer", "minimum": -50, "maximum": 1000]]
        for kind in kinds.dropFirst() where !random.oneIn(4) {
            let member = kind == "any" ? "v" : "\(kind.first!)1"
            members[kind, default: []].append(member)
            (initial[member], schemas[member]) = Self.member(kind, &random)
        }
        if random.oneIn(2) {
            members["integer"]?.append("n2")
            initial["n2"] = 0
            schemas["n2"] = "integer"
        }
        var definition: JSONObject = ["type": .string(name), "initial": .object(initial)]
        if random.oneIn(2) { definition["state"] = .object(schemas) }
        let hasSchema = definition["state"] != nil
        var own = RandomExpressions(members: members)
        own.other = other.map { $0 + "/a" }
        own.isTimed = isTimed
        var expressions = RandomExpressions(members: members)
        if random.oneIn(2) { definition["let"] = .object(names(&own, &expressions, &random)) }
        expressions.prefix = ""
        if random.oneIn(2) {
            var computed: JSONObject = ["c1": expressions.integer(2, &random)]
            if random.oneIn(2) { computed["c2"] = ["!": [["var": "c1"]]] }
            if random.oneIn(2) {
                // A text alone would be an expression.
                let value = expressions.any(1, &random)
                computed["c0"] = value.string == nil ? value : ["literal": value]
            }
            definition["computed"] = .object(computed)
        }
        if let other { definition["waitFor"] = [.string(other)] }
        if random.oneIn(2) { definition["index"] = "n" }
        if random.oneIn(4), isTimed {
            definition["ttl"] = .string("\(Int.random(in: 20...600, using: &random))s")
        }
        var actions = JSONObject()
        for action in actionNames where !random.oneIn(3) {
            actions[action] = RandomAction.definition(own, hasSchema: hasSchema, &random)
        }
        if actions.isEmpty { actions["act"] = [:] }
        definition["actions"] = .object(isTimed ? RandomAction.withTimers(actions, &random) : actions)
        if isTimed, random.oneIn(2) {
            var timers = JSONObject()
            for name in ["q", "x"].prefix(random.oneIn(2) ? 1 : 2) {
                timers[name] = RandomAction.ofType(actions, expressions, &random)
            }
            definition["timers"] = .object(timers)
        }
        if random.oneIn(2) { addInvariant(to: &definition, expressions, &random) }
        return .object(definition)
    }

    /// Names for `let`: a constant, what reads the state alone, and what only actions may read.
    private static func names(
        _ ofActions: inout RandomExpressions, _ ofState: inout RandomExpressions,
        _ random: inout SeededGenerator
    ) -> JSONObject {
        var names: JSONObject = ["w0": .int(Int.random(in: -9...9, using: &random))]
        var expressions = ofState
        expressions.isOfState = true
        expressions.names = names
        // What is read makes none of them a constant.
        names["w1"] = ["+": [["var": "state.n"], expressions.integer(2, &random)]]
        expressions.named["integer"] = ["w1"]
        if let list = expressions.members["list"]?.first {
            names["w2"] = ["filter": [["var": .string("state.\(list)")], [">": [["var": ""], 0]]]]
            expressions.named["list"] = ["w2"]
        }
        if random.oneIn(2) {
            names["w3"] = ["substr": [["cat": [expressions.text(1, &random), ["var": "w1"]]], 0, 12]]
            expressions.named["text"] = ["w3"]
        }
        (ofState.names, ofState.named) = (names, expressions.named)
        (ofActions.names, ofActions.named) = (names, expressions.named)
        if random.oneIn(2) {
            names["w4"] = ["+": [["var": "meta.revision"], ofActions.integer(2, &random)]]
            ofActions.named["integer"]?.append("w4")
        }
        return names
    }

    /// An invariant that a new store satisfies, if one is found at once.
    private static func addInvariant(
        to definition: inout JSONObject, _ expressions: RandomExpressions, _ random: inout SeededGenerator
    ) {
        let condition: JSON =
            random.oneIn(2)
            ? ["<": [["var": "n"], .int(Int.random(in: 5...40, using: &random))]]
            : expressions.condition(1, &random)
        var next = definition
        next["invariant"] = [["if": condition, "else": "no"]]
        let type = ModelType(.object(next))
        if !type.breaksInvariant(type.initial) { definition = next }
    }

    /// A value to begin with, and a schema.
    private static func member(_ kind: String, _ random: inout SeededGenerator) -> (JSON, JSON) {
        switch kind {
        case "number": (0.5, "number")
        case "text": ("a", ["type": "string", "maxLength": 12])
        case "boolean": (.bool(random.oneIn(2)), "boolean")
        case "list": ([2, 1], ["type": "array", "items": "integer", "maxItems": 8])
        case "map": (["k1": 1], ["values": ["type": "integer", "maximum": 90]])
        case "record":
            (["p": 1, "q": "b"], ["properties": ["p": "integer", "q": "string"], "required": ["p"]])
        default: (.null, ["type": "any", "nullable": true])
        }
    }
}
