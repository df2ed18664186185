import BusEngine
import BusJSON
import BusLogic
import TestSupport

/// A whole bus in memory: one engine, several clients, bytes in arbitrary pieces and order, all from a seed.
final class Simulation {
    private var random: SeededGenerator
    private var engine: Engine
    private let configuration: EngineConfiguration
    private var clients: [SimulatedClient] = []
    private var truth = Truth()
    private var audited = -1
    private var now = 1_795_000_000_000
    private var nextStore = 0
    private let epoch = "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab"
    private(set) var coalesced = 0
    private(set) var parts = 0
    private(set) var handOvers = 0
    /// How often subscribers were told together.
    private(set) var multicasts = 0
    /// How often somebody had to wait for a turn.
    private(set) var pauses = 0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var configuration = EngineConfiguration(epoch: epoch, ownUID: 990, version: "test")
        configuration.limits.daemon.line = [1800, 4000, 1 << 20][Int(seed % 3)]
        // Short slices: reads, first states and whole lines have to wait for their turn.
        configuration.limits.daemon.sliceWork = [200, 3000, 100_000][Int(seed / 9 % 3)]
        configuration.limits.daemon.outbox = [600, 3000, 1 << 20][Int(seed / 3 % 3)]
        self.configuration = configuration
        engine = Engine(configuration, types: try Self.types())
        for _ in 0..<5 { connect() }
    }

    func run(steps: Int) throws {
        try audit()
        for _ in 0..<steps {
            now += Int.random(in: 0..<40, using: &random)
            if Int.random(in: 0..<2000, using: &random) == 0 { now += 40_000 }
            engine.beginTurn(at: now)
            try step()
            engine.tick()
            try audit()
            if Bool.random(using: &random) {
                pauses += engine.hasWork ? 1 : 0
                _ = engine.serveNext()
            }
            engine.takeReady { _ in }
            try audit()
        }
        try drain()
        multicasts += engine.multicastsFormed
        for client in clients {
            try client.checkFinally(at: engine.revision, truth)
            coalesced += client.coalescedEvents
            parts += client.partialEvents
        }
    }

    private func step() throws {
        let client = clients.randomElement(using: &random)!
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: request(client)
        case 45..<65: push(client)
        case 65..<98: try pull(client, all: Bool.random(using: &random))
        case 98: try restart()
        default: try reconnect(client)
        }
    }

    /// Another engine takes over, in the middle of whatever is under way; no client may notice.
    private func restart() throws {
        let bytes = engine.handOver()
        multicasts += engine.multicastsFormed
        // Whoever follows has been told another epoch by its configuration, and may know its types in another order.
        var following = configuration
        following.epoch = "0d3a1f0e-0000-4000-8000-000000000000"
        engine = Engine(following, types: try Self.types().reversed())
        engine.beginTurn(at: now)
        try engine.takeOver(bytes.bytes)
        handOvers += 1
    }

    // MARK: Bytes

    /// Gives the engine some of what a client has to send.
    private func push(_ client: SimulatedClient) {
        guard !client.toSend.isEmpty, case .reading = engine.status(of: client.connection) else { return }
        // One request at a time is audited; pieces of one may come in any size.
        let end = client.toSend.firstIndex(of: 10)! + 1
        let count = Bool.random(using: &random) ? end : Int.random(in: 1...end, using: &random)
        client.toSend.prefix(count).withUnsafeBytes { engine.receive(client.connection, $0) }
        client.toSend.removeFirst(count)
    }

    /// Takes some of what the engine has for a client.
    private func pull(_ client: SimulatedClient, all: Bool) throws {
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 4)
        defer { pieces.deallocate() }
        while engine.hasOutput(client.connection) {
            var bytes: [UInt8] = []
            let filled = engine.output(of: client.connection, into: pieces)
            for piece in pieces.prefix(filled) {
                bytes += Array(UnsafeRawBufferPointer(start: piece.base, count: piece.count))
            }
            let count = all ? bytes.count : Int.random(in: 1...bytes.count, using: &random)
            engine.sent(client.connection, count)
            try audit()
            do {
                try client.receive(Array(bytes.prefix(count)), truth)
            } catch {
                throw Violation("\(error)\nafter these lines:\n\(client.recent.joined(separator: "\n"))")
            }
            if !all { break }
        }
    }

    private func connect() {
        let uid = Int.random(in: 1000..<1003, using: &random)
        clients.append(
            SimulatedClient(connection: engine.connect(.unix(uid: uid, pid: 4000 + clients.count))))
    }

    /// A client goes without a word and comes back, with one subscription resumed.
    private func reconnect(_ client: SimulatedClient) throws {
        engine.disconnect(client.connection)
        try audit()
        coalesced += client.coalescedEvents
        parts += client.partialEvents
        clients.removeAll { $0 === client }
        connect()
        let successor = clients.last!
        guard let mirror = client.mirrors.values.first(where: { !$0.awaitsFirst && !$0.isOpen }) else {
            return
        }
        subscribe(successor, mirror.request, since: (mirror.from, mirror.states))
    }

    /// Everything that is on its way arrives.
    private func drain() throws {
        for _ in 0..<100_000 {
            var busy = false
            for client in clients {
                if !client.toSend.isEmpty {
                    push(client)
                    busy = true
                    try audit()
                }
                if engine.hasOutput(client.connection) {
                    try pull(client, all: true)
                    busy = true
                    try audit()
                }
            }
            while engine.hasWork {
                _ = engine.serveNext()
                busy = true
                try audit()
            }
            if !busy { return }
        }
        throw Violation("The bus never came to rest.")
    }

    /// Notes all states, once per revision.
    private func audit() throws {
        guard engine.revision != audited else { return }
        guard engine.revision <= audited + 1 || audited < 0 else {
            throw Violation("Several commits happened in one step.")
        }
        audited = engine.revision
        var states: [String: JSON] = [:]
        for type in ["note", "tree"] {
            for address in engine.addresses(ofType: type) {
                states[address] = engine.state(at: address).map(JSON.object)
            }
        }
        truth.note(states, at: audited)
    }

    // MARK: Requests

    private func request(_ client: SimulatedClient) {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<14: create(client)
        case 14..<18: client.send(["op": "drop", "store": .string(someStore())])
        case 18..<28 where client.subscriptions.count < 4: subscribe(client, someSubscription(), since: nil)
        case 28..<31:
            guard let number = client.subscriptions.randomElement(using: &random) else { return }
            client.send(["op": "unsubscribe", "sub": .int(number)], expecting: .unsubscription(number))
        case 31..<34: client.send(["op": "sync"])
        case 34..<36: client.sendSilently(["op": "dispatch", "type": "note", "action": "ring", "ack": false])
        case 36..<38:
            client.send(["op": "will", "actions": [["type": "note", "action": "add", "payload": ["by": 7]]]])
        default: dispatch(client)
        }
    }

    private func create(_ client: SimulatedClient) {
        nextStore += 1
        let type = ["note", "tree"].randomElement(using: &random)!
        client.send([
            "op": "create", "store": .string("\(type)/s\(nextStore % 12)"), "ifMissing": true,
            "ephemeral": .bool(Int.random(in: 0..<3, using: &random) == 0),
        ])
    }

    private func someStore() -> String {
        "\(["note", "tree"].randomElement(using: &random)!)/s\(Int.random(in: 0..<12, using: &random))"
    }

    private func someSubscription() -> SubscriptionRequest {
        let (kind, text) = [
            ("type", "note"), ("type", "tree"), ("match", "*/*"), ("match", "t*/s1*"), ("match", "note/s?"),
            ("store", "note/s1"), ("store", "tree/s2"), ("match", "*/s3"), ("match", "tree/*"),
        ].randomElement(using: &random)!
        let pointers: [[String]]? = [
            nil, nil, [["count"]], [["map", "a"], ["count"]], [["list", "0"]], [["map"], ["flag"]],
            [["map", "a", "x"]], [["size"]],
        ].randomElement(using: &random)!
        let format = ["merge", "patch", "state"].randomElement(using: &random)!
        return SubscriptionRequest(kind: kind, text: text, pointers: pointers, format: format)
    }

    private func subscribe(
        _ client: SimulatedClient, _ wanted: SubscriptionRequest,
        since: (revision: Int, states: [String: JSON])?
    ) {
        let initial = Int.random(in: 0..<5, using: &random) > 0
        var members: JSONObject = [
            "op": "subscribe", "format": .string(wanted.format), "initial": .bool(initial),
            "cause": .bool(Bool.random(using: &random)),
        ]
        members[wanted.kind] = .string(wanted.text)
        if let pointers = wanted.pointers {
            members["select"] = .array(pointers.map { .string($0.map { "/" + $0 }.joined()) })
        }
        if let since {
            members["since"] = .int(since.revision)
            members["epoch"] = .string(epoch)
        }
        client.send(members, expecting: .subscription(wanted, since: since, initial: initial))
    }

    private func dispatch(_ client: SimulatedClient) {
        var members: JSONObject = ["op": "dispatch"]
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            members["actions"] = .array(
                (0..<Int.random(in: 1..<6, using: &random)).map { _ in .object(someAction()) })
        default:
            for member in someAction().members { members[member.key] = member.value }
            if Int.random(in: 0..<12, using: &random) == 0 { members["dryRun"] = true }
            if Int.random(in: 0..<12, using: &random) == 0 {
                members["key"] = .string("k\(Int.random(in: 0..<20, using: &random))")
            }
        }
        client.send(members)
    }

    private func someAction() -> JSONObject {
        let value = randomJSON(using: &random, depth: 3)
        let key = ["a", "b", "c", "x"].randomElement(using: &random)!
        let (action, payload): (String, JSONObject) = [
            ("add", ["by": .int(Int.random(in: -3..<4, using: &random))]), ("flip", [:]),
            ("put", ["value": value]),
            ("push", ["value": value]), ("pull", ["value": .int(Int.random(in: 0..<3, using: &random))]),
            ("key", ["key": .string(key), "value": value]), ("forget", ["key": .string(key)]),
            ("blend", ["value": .object(["a": value])]), ("mixed", ["key": .string(key), "value": value]),
            ("ring", [:]),
            ("element", ["index": .int(Int.random(in: 0..<3, using: &random)), "value": value]),
        ].randomElement(using: &random)!
        var members: JSONObject = ["action": .string(action), "payload": .object(payload)]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: members["type"] = .string(["note", "tree"].randomElement(using: &random)!)
        case 1: members["type"] = "*"
        default: members["store"] = .string(someStore())
        }
        return members
    }

    static func types() throws -> [any StateType] {
        let actions: JSON = [
            "add": ["payload": ["by": "integer"], "increment": ["count": ["var": "payload.by"]]],
            "flip": ["toggle": ["flag"]],
            "put": ["payload": ["value": "any"], "set": ["value": ["var": "payload.value"]]],
            "push": ["payload": ["value": "any"], "append": ["list": ["var": "payload.value"]]],
            "pull": ["payload": ["value": "any"], "remove": ["list": ["var": "payload.value"]]],
            "key": [
                "payload": ["key": "string", "value": "any"],
                "set": ["map.{payload.key}": ["var": "payload.value"]],
            ],
            "forget": ["payload": ["key": "string"], "unset": ["map.{payload.key}"]],
            "blend": ["payload": ["value": "object"], "merge": ["map": ["var": "payload.value"]]],
            "element": [
                "payload": ["index": "integer", "value": "any"],
                "set": ["list.{payload.index}": ["var": "payload.value"]],
            ],
            "mixed": [
                "payload": ["key": "string", "value": "any"],
                "when": ["<": [["var": "state.count"], 5]],
                "set": ["map.{payload.key}": ["var": "payload.value"], "value": ["var": "state.map"]],
                "increment": ["count": 1],
                "append": ["list": ["var": "state.count"]],
            ],
            "ring": [:],
        ]
        let note: JSON = [
            "type": "note",
            "initial": ["count": 0, "flag": false, "value": .null, "list": [], "map": [:]],
            "computed": ["size": ["+": [["var": "count"], 1]]],
            "actions": actions,
        ]
        let tree: JSON = [
            "type": "tree",
            "initial": [
                "count": 0, "flag": true, "value": [:], "list": [1, 2], "map": ["a": ["x": 1, "y": [1]]],
            ],
            "actions": actions,
        ]
        return [try DeclaredType(definition: note), try DeclaredType(definition: tree)]
    }
}
