import BusJSON
import TestSupport

/// Random requests: most are right, some are not.
struct RandomRequests {
    static let names = ["a", "b", "c", "d:1", "e@x"]
    static let keys = ["k1", "k2", "a.b", "é", "n", "c1", "0"]

    /// A value that mostly fits a schema.
    static func fitting(_ schema: JSON, _ random: inout SeededGenerator) -> JSON {
        if let allowed = schema["enum"]?.array { return allowed.randomElement(using: &random)! }
        let type = schema["type"]?.string ?? String(schema.string?.prefix { $0 != "?" } ?? "any")
        switch type {
        case "integer": return .int(Int.random(in: random.oneIn(8) ? -20...20 : 0...4, using: &random))
        case "number": return random.oneIn(2) ? .int(Int.random(in: -4...9, using: &random)) : 2.25
        case "string": return .string(keys.randomElement(using: &random)!)
        case "boolean": return .bool(random.oneIn(2))
        case "array": return .array((0..<Int.random(in: 0...3, using: &random)).map { .int($0 * 2) })
        case "object":
            var members = JSONObject()
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                members[keys.randomElement(using: &random)!] =
                    random.oneIn(4) ? .null : .int(Int.random(in: 0...99, using: &random))
            }
            return .object(members)
        default: return randomJSON(using: &random, depth: 2)
        }
    }

    /// An action on a store or a type, with a payload.
    static func action(
        _ model: ModelBus, mayChoose: Bool = false, _ random: inout SeededGenerator
    ) -> JSONObject {
        let type = random.oneIn(60) ? nil : model.world.types.keys.sorted().randomElement(using: &random)
        let definition = type.flatMap { model.world.types[$0] }
        let name =
            (random.oneIn(20)
                ? nil : definition?.definition["actions"]?.object?.keys.randomElement(using: &random))
            ?? RandomTypes.actionNames.randomElement(using: &random)!
        var request: JSONObject = ["action": .string(name)]
        if random.oneIn(12) {
            request["type"] = "*"
        } else if random.oneIn(3) {
            request["type"] = .string(type ?? "nothing")
        } else {
            request["store"] = .string(address(type ?? "nothing", model, &random))
        }
        if mayChoose, request["type"] != nil, random.oneIn(2) { request["where"] = condition(&random) }
        var payload = JSONObject()
        for member in definition?.action(name)?["payload"]?.object ?? [:] {
            if member.value["default"] != nil || member.value.string?.hasSuffix("?") == true, random.oneIn(2)
            {
                continue
            }
            if random.oneIn(60) { continue }
            payload[member.key] = random.oneIn(40) ? .null : fitting(member.value, &random)
        }
        if random.oneIn(60) { payload["other"] = 1 }
        if !payload.isEmpty { request["payload"] = .object(payload) }
        return request
    }

    /// Mostly that of a store that there is.
    static func address(_ type: String, _ model: ModelBus, _ random: inout SeededGenerator) -> String {
        let there = model.world.order.filter { ModelBus.type(of: $0) == type }
        if !random.oneIn(5), let found = there.randomElement(using: &random) { return found }
        return "\(type)/\(names.randomElement(using: &random)!)"
    }

    static func type(_ model: ModelBus, _ random: inout SeededGenerator) -> String {
        model.world.types.keys.sorted().randomElement(using: &random)!
    }

    /// A request, without `id`.
    static func request(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<22: return dispatch(model, &random)
        case 22..<25: return create(model, &random)
        case 25:
            let type = type(model, &random)
            var request: JSONObject = ["op": "drop"]
            if random.oneIn(3) {
                (request["type"], request["where"]) = (.string(type), condition(&random))
            } else {
                request["store"] = .string(address(type, model, &random))
            }
            return keyed(request, model, &random)
        case 26..<29:
            var request = filter(model, &random)
            request["op"] = "get"
            if random.oneIn(3) { request["where"] = condition(&random) }
            if random.oneIn(3) {
                request["revision"] = .int(
                    Int.random(in: 0...model.revision + (random.oneIn(20) ? 3 : 0), using: &random))
            }
            return paged(selecting(request, model, &random), model, &random)
        case 29:
            var request: JSONObject = ["op": "stores"]
            if random.oneIn(2) { request["match"] = .string(pattern(&random)) }
            if random.oneIn(2) { request["where"] = condition(&random) }
            return paged(request, model, &random)
        case 30..<32:
            var request: JSONObject = ["op": "timers"]
            if random.oneIn(2) { request["match"] = .string(pattern(&random)) }
            if random.oneIn(3) { request["limit"] = .int(Int.random(in: 1...3, using: &random)) }
            return request
        case 32: return cancel(model, &random)
        case 33: return will(model, &random)
        case 34..<36: return history(model, &random)
        case 36, 37: return revert(model, &random)
        case 38: return ["op": "sync"]
        default: return model.isTimed ? scheduled(model, &random) : dispatch(model, &random)
        }
    }

    // MARK: Dispatches

    private static func dispatch(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        if random.oneIn(5) {
            let actions = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                JSON.object(action(model, mayChoose: true, &random))
            }
            return keyed(flagged(["op": "dispatch", "actions": .array(actions)], &random), model, &random)
        }
        var request = action(model, mayChoose: true, &random)
        request["op"] = "dispatch"
        if let store = request["store"]?.string, random.oneIn(8) {
            let own = model.world.stores[store]?.revision ?? 1
            request["ifRevision"] = .int(random.oneIn(3) ? max(0, own - 1) : own)
        }
        return keyed(flagged(request, &random), model, &random)
    }

    private static func flagged(_ request: JSONObject, _ random: inout SeededGenerator) -> JSONObject {
        var request = request
        if random.oneIn(8) { request["dryRun"] = true } else if random.oneIn(20) { request["ack"] = false }
        return request
    }

    /// With a key now and then, out of few, so that some are used twice.
    private static func keyed(_ request: JSONObject, _ model: ModelBus, _ random: inout SeededGenerator)
        -> JSONObject
    {
        var request = request
        guard request["dryRun"] == nil, request["ack"] == nil, random.oneIn(10) else { return request }
        request["key"] = .string("key-\(Int.random(in: 0..<200, using: &random))")
        if random.oneIn(2) {
            request["after"] = .int(random.oneIn(2) ? model.revision : 0)
            request["epoch"] = .string(random.oneIn(6) ? "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab" : model.epoch)
        }
        return request
    }

    private static func scheduled(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        var request = action(model, &random)
        if request["type"] == "*" { request["type"] = "t0" }
        request["op"] = "dispatch"
        if random.oneIn(3) {
            request["at"] = .double(
                Double(
                    model.now
                        + Int.random(in: random.oneIn(9) ? -5000...(-1000) : 500...90_000, using: &random))
                    / 1000)
        } else {
            request["in"] =
                random.oneIn(2)
                ? .int(Int.random(in: 0...120, using: &random))
                : .string("\(Int.random(in: 1...3, using: &random))m")
        }
        if random.oneIn(2) { request["timer"] = .string(["x", "y", "z"].randomElement(using: &random)!) }
        return request
    }

    private static func cancel(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        if !random.oneIn(4), let timer = model.world.timers.randomElement(using: &random) {
            return [
                "op": "cancel", timer.action.kind: .string(timer.action.target), "timer": .string(timer.name),
            ]
        }
        return keyed(
            ["op": "cancel", "store": .string(address(type(model, &random), model, &random)), "timer": "x"],
            model, &random)
    }

    private static func will(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        let actions = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            JSON.object(action(model, &random))
        }
        return ["op": "will", "actions": .array(actions)]
    }

    // MARK: Stores and reads

    private static func create(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        let type = random.oneIn(60) ? "nothing" : type(model, &random)
        var request: JSONObject = [
            "op": "create", "store": .string("\(type)/\(names.randomElement(using: &random)!)"),
        ]
        let definition = model.world.types[type]
        if random.oneIn(3), let definition {
            var state = JSONObject()
            for member in definition.visible(definition.initial).object ?? [:] where random.oneIn(3) {
                state[member.key] = random.oneIn(6) ? .string("odd") : member.value
            }
            if random.oneIn(3) { state["n"] = .int(Int.random(in: -60...60, using: &random)) }
            if random.oneIn(6) { state["colour"] = "red" }
            // What `get` gave can be given back.
            if random.oneIn(4), let other = model.world.order.first(where: { ModelBus.type(of: $0) == type })
            {
                state = model.world.stores[other]?.state.object ?? [:]
            }
            request["state"] = .object(state)
            if random.oneIn(3) {
                request["version"] = .int(Int.random(in: 1...definition.version, using: &random))
            }
        }
        if random.oneIn(6) { request["ephemeral"] = true }
        if random.oneIn(6) { request["ifMissing"] = true }
        if random.oneIn(6), model.isTimed {
            request["ttl"] = random.oneIn(4) ? .null : .int(Int.random(in: 20...300, using: &random))
        }
        return request["ifMissing"] == nil ? keyed(request, model, &random) : request
    }

    private static func revert(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        let store = address(type(model, &random), model, &random)
        var request: JSONObject = [
            "op": "revert", "store": .string(store),
            "revision": .int(
                Int.random(
                    in: random.oneIn(4) ? 0...model.revision : max(0, model.revision - 20)...model.revision,
                    using: &random)),
        ]
        if random.oneIn(5) {
            request["ifRevision"] = .int(
                (model.world.stores[store]?.revision ?? 1) - (random.oneIn(2) ? 1 : 0))
        }
        return request
    }

    private static func history(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        var request: JSONObject = [
            "op": "history", "since": .int(max(0, model.revision - Int.random(in: 0...40, using: &random))),
        ]
        if random.oneIn(3) {
            request["until"] = .int(
                model.revision - Int.random(in: 0...min(9, model.revision), using: &random))
        }
        if random.oneIn(2) { request["limit"] = .int(Int.random(in: 1...30, using: &random)) }
        if random.oneIn(3) {
            request["type"] = .string(type(model, &random))
        } else if random.oneIn(3) {
            request["store"] = .string(address(type(model, &random), model, &random))
        }
        return request
    }

    /// An expression that says which stores are meant.
    static func condition(_ random: inout SeededGenerator) -> JSON {
        let number = Int.random(in: -2...6, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<2: return .string("n \(["<", ">=", "=="].randomElement(using: &random)!) \(number)")
        case 2: return .string("state.n \(random.oneIn(2) ? ">=" : "==") \(number)")
        case 3: return .string("c1 < \(number)")
        case 4: return .string("store \(random.oneIn(2) ? "==" : "!=") 't0/a'")
        case 5: return [random.oneIn(2) ? "<" : ">": [["var": "n"], .int(number)]]
        case 6: return ["!!": [["var": ["state.v", "m1.k1", "c1", "t1"].randomElement(using: &random)!]]]
        case 7: return ["in": ["a", ["var": "store"]]]
        case 8: return ["some": [["var": "l1"], [">": [["var": ""], .int(number)]]]]
        default: return ["or": [["!": [["var": "m1.k2"]]], ["==": [["var": "state.n"], .int(number)]]]]
        }
    }

    static func pattern(_ random: inout SeededGenerator) -> String {
        ["*/*", "t0/*", "t1/*", "t?/a", "*/b", "t0/?", "*1/*", "t*/d:*", "*/*@*", "t2/c"].randomElement(
            using: &random)!
    }

    /// `store`, `type` or `match`.
    static func filter(_ model: ModelBus, _ random: inout SeededGenerator) -> JSONObject {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: ["store": .string(address(type(model, &random), model, &random))]
        case 1: ["type": .string(type(model, &random))]
        default: ["match": .string(pattern(&random))]
        }
    }

    static func selecting(_ request: JSONObject, _ model: ModelBus, _ random: inout SeededGenerator)
        -> JSONObject
    {
        guard random.oneIn(3) else { return request }
        var request = request
        let pointers = [
            "/n", "/m1", "/m1/k1", "/m1/k2", "/l1", "/l1/0", "/r1/p", "/v", "/c1", "/t1", "/v/a", "/nothing",
            "/n/x",
        ]
        request["select"] = .array(
            (0..<Int.random(in: 1...3, using: &random)).map { _ in
                .string(pointers.randomElement(using: &random)!)
            })
        return request
    }

    private static func paged(_ request: JSONObject, _ model: ModelBus, _ random: inout SeededGenerator)
        -> JSONObject
    {
        var request = request
        guard request["store"] == nil else { return request }
        if random.oneIn(4) { request["limit"] = .int(Int.random(in: 1...4, using: &random)) }
        if random.oneIn(6) { request["after"] = .string(address(type(model, &random), model, &random)) }
        return request
    }
}
