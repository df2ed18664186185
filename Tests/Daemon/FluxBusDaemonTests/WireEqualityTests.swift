import BusJSON
import FluxBusDaemon
import TestModes
import TestSupport
import Testing

/// On the wire nothing tells a compiled type from a declared one: the same requests to two buses, one with each,
/// bring the same bytes back to every client.
@Suite(.inBothModes) struct WireEqualityTests {
    /// Two buses and the clients on them, each pair told the same.
    private struct Twins {
        let declared: MemoryBus
        let compiled: MemoryBus
        var clients: [(declared: MemoryClient, compiled: MemoryClient)] = []

        init(clients count: Int) throws {
            var setup = MemoryBus.Setup()
            setup.stores = ["tally/main", "counter/main"]
            var other = setup
            setup.definitions = [Tally.declared]
            other.natives = try FluxBusDaemon.compile([Tally.self])
            declared = try MemoryBus(setup)
            compiled = try MemoryBus(other)
            clients = (0..<count).map { _ in (declared.connect(), compiled.connect()) }
        }

        func send(_ request: JSON, by client: Int) {
            clients[client].declared.send(request.encoded)
            clients[client].compiled.send(request.encoded)
        }

        /// Compares all that came; gives the lines of all clients.
        func compare(_ note: String) -> [String] {
            var lines: [String] = []
            for (declared, compiled) in clients {
                while true {
                    let (left, right) = (declared.nextLine(), compiled.nextLine())
                    #expect(left == right, "\(note)")
                    guard let left else { break }
                    lines.append(left)
                }
            }
            return lines
        }
    }

    // MARK: Random requests

    private func value(_ generator: inout SeededGenerator) -> JSON {
        let values: [JSON] = [
            1, -5, 2000, 1.5, 2.0, "text", "", true, .null, [1, ["x": .null]],
            ["x": 1, "y": [[:]], "n": .null],
            .int(.max),
        ]
        return values.randomElement(using: &generator) ?? .null
    }

    /// The members of an action's payload: mostly right, now and then absent, of another type or strange.
    private func payload(_ action: String, _ generator: inout SeededGenerator) -> JSON {
        let key = JSON.string(["a", "b", "c d", "7"].randomElement(using: &generator) ?? "a")
        var payload: JSONObject =
            switch action {
            case "increment": generator.oneIn(2) ? [:] : ["by": .int(.random(in: -3...3, using: &generator))]
            case "setLabel": ["text": .string(randomString(using: &generator))]
            case "setRatio": ["to": .double(.random(in: 0.1...0.9, using: &generator))]
            case "note": ["text": key, "by": .int(.random(in: 0...9, using: &generator))]
            case "put": ["key": key, "value": value(&generator)]
            case "take": ["key": key]
            default: [:]
            }
        guard generator.oneIn(5) else { return .object(payload) }
        let names = ["by", "text", "suffix", "key", "value", "deep", "stranger", "to"]
        let name = names.randomElement(using: &generator) ?? ""
        // A whole number in a double's place stays one in a declared state and becomes 5.0 in a Swift one.
        let value = name == "to" ? .double(0.25) : value(&generator)
        payload[name] = generator.oneIn(3) ? nil : value
        return .object(payload)
    }

    private func step(_ generator: inout SeededGenerator) -> JSONObject {
        let actions = [
            "increment", "setLabel", "setRatio", "note", "clear", "put", "put", "put", "take", "ring",
            "spoil",
            "incremnt",
        ]
        let action = actions.randomElement(using: &generator) ?? ""
        var step: JSONObject = ["action": .string(action), "payload": payload(action, &generator)]
        if action == "ring", generator.oneIn(2) { step["payload"] = nil }
        let targets: [(String, JSON)] = [
            ("store", "tally/main"), ("store", "tally/a"), ("store", "tally/b"), ("type", "tally"),
            ("type", "*"), ("store", "tally/none"),
        ]
        if let target = targets.randomElement(using: &generator) { step[target.0] = target.1 }
        return step
    }

    private func subscription(_ generator: inout SeededGenerator) -> JSONObject {
        var request: JSONObject = ["op": "subscribe"]
        let whats: [(String, JSON)] = [
            ("type", "tally"), ("store", "tally/a"), ("match", "*/*"), ("match", "tally/?"),
        ]
        if let what = whats.randomElement(using: &generator) { request[what.0] = what.1 }
        let formats: [JSON] = ["merge", "patch", "state"]
        request["format"] = formats.randomElement(using: &generator)
        if generator.oneIn(3) { request["select"] = ["/items/a", "/count"] }
        if generator.oneIn(3) { request["cause"] = true }
        if generator.oneIn(5) {
            (request["actions"], request["format"], request["select"]) = (true, nil, nil)
            request["cause"] = nil
        }
        return request
    }

    private func request(_ generator: inout SeededGenerator) -> JSONObject {
        let names: [JSON] = ["tally/a", "tally/b", "tally/c"]
        let name = names.randomElement(using: &generator) ?? ""
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: return ["op": "create", "store": name]
        case 1:
            var state: JSONObject = ["count": .int(.random(in: 0...9, using: &generator)), "isEven": 3]
            if generator.oneIn(2) { state["items"] = ["a": value(&generator)] }
            if generator.oneIn(4) { state["lable"] = "" }
            return ["op": "create", "store": name, "state": .object(state)]
        case 2: return generator.oneIn(4) ? ["op": "drop", "store": name] : ["op": "get", "store": name]
        case 3: return ["op": "get", "type": "tally"]
        case 4: return subscription(&generator)
        case 5, 6:
            let count = Int.random(in: 1...4, using: &generator)
            let steps = (0..<count).map { _ in JSON.object(step(&generator)) }
            var request: JSONObject = ["op": "dispatch", "actions": .array(steps)]
            if generator.oneIn(4) { request["dryRun"] = true }
            return request
        case 7:
            var request = step(&generator)
            (request["op"], request["dryRun"]) = ("dispatch", true)
            return request
        default:
            var request = step(&generator)
            request["op"] = "dispatch"
            if generator.oneIn(10), request["store"] != nil {
                request["ifRevision"] = .int(.random(in: 0...30, using: &generator))
            }
            if generator.oneIn(10) { request["ack"] = false }
            return request
        }
    }

    @Test(arguments: 1...12) func repliesAndEventsAreTheSameBytes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let twins = try Twins(clients: 3)
        var kinds: [String: Int] = [:]
        for round in 0..<400 {
            var request = request(&generator)
            request["id"] = .int(round)
            let client = Int.random(in: 0..<3, using: &generator)
            // A client that pauses has its changes merged.
            if generator.oneIn(12) {
                let reads = !twins.clients[client].declared.isReading
                twins.clients[client].declared.isReading = reads
                twins.clients[client].compiled.isReading = reads
            }
            twins.send(.object(request), by: client)
            let lines = twins.compare("seed \(seed), round \(round): \(JSON.object(request).encoded)")
            for line in lines {
                let json = try JSON(parsing: line)
                kinds[json["error"]?["code"]?.string ?? json["event"]?.string ?? "ok", default: 0] += 1
            }
        }
        // The run has met what it is for.
        for kind in ["ok", "change", "invalid_payload", "rejected", "unknown_action"] {
            #expect(kinds[kind, default: 0] > 0, "seed \(seed) met no \(kind)")
        }
    }

    @Test func definitionsSayTheSameOfActions() throws {
        let twins = try Twins(clients: 1)
        twins.clients[0].declared.send(#"{"op":"types","type":"tally"}"#)
        twins.clients[0].compiled.send(#"{"op":"types","type":"tally"}"#)
        let declared = try #require(try twins.clients[0].declared.next()?["types"]?[0])
        let compiled = try #require(try twins.clients[0].compiled.next()?["types"]?[0])
        #expect(declared["type"] == compiled["type"])
        #expect(declared["initial"] == compiled["initial"])
        #expect(declared["computed"]?.object?.keys == compiled["computed"]?.object?.keys)
        #expect(declared["actions"]?.object?.keys == compiled["actions"]?.object?.keys)
        for action in declared["actions"]?.object ?? [:] {
            #expect(compiled["actions"]?[action.key]?["payload"] == action.value["payload"], "\(action.key)")
        }
    }
}
