import BusEngine
import BusJSON
import BusLogic
import BusMachine
import TestSupport

/// A bus with a log, whose disk is slow, fails, and which is gone in the middle of anything; all from a seed.
final class LogSimulation {
    private var random: SeededGenerator
    private var bus: MemoryBus
    private var clients: [LogClient] = []
    private let ledger = LogLedger()
    private var model: Model
    /// Turns in which several clients sent something.
    private(set) var sharedTurns = 0
    /// What the states were when the bus stood at a revision that has not been taken back since.
    private var digests: [Int: String] = [:]
    private(set) var sharedEntries = 0
    private(set) var entriesReadInPlace = 0
    private(set) var crashes = 0
    private(set) var failures = 0
    private(set) var restarts = 0
    private(set) var snapshots = 0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var setup = MemoryBus.Setup()
        setup.log = MemoryLog()
        setup.natives = try SimulatedTypes.loadMarked()
        setup.stores = ["note/wills", "note/s1", "tree/s2"]
        setup.limits.daemon.outbox = [2000, 6000, 4 << 20][Int(seed % 3)]
        setup.limits.daemon.sliceWork = [200, 5000, 100_000][Int(seed / 6 % 3)]
        setup.limits.daemon.line = [3000, 1 << 20][Int(seed / 3 % 2)]
        let line = setup.limits.daemon.line
        model = Model(stateLimit: min(1 << 20, line - 1024), lineLimit: line)
        bus = try MemoryBus(setup)
        for index in 0..<4 { clients.append(LogClient(uid: 1000 + index % 3, bus: bus, ledger: ledger)) }
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            try step()
            bus.settle()
            try look()
            let miscounts = bus.engine.miscounts
            guard miscounts.isEmpty else { throw Violation("Memory is miscounted: \(miscounts)") }
        }
        try finish()
    }

    private func step() throws {
        guard let client = clients.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<200, using: &random) {
        case 0..<122: try talk()
        case 122..<130: bus.finishWrite()
        case 130..<145: client.line.isReading.toggle()
        case 145..<165:
            bus.advance(milliseconds: random.oneIn(10) ? 31_000 : Int.random(in: 0..<3, using: &random))
        case 165..<182:
            bus.disk = [.works, .works, .isBusy, .isBusy, .fails].randomElement(using: &random) ?? .works
        case 182..<186: try crash()
        case 186..<190:
            // It comes back as soon as it sees the end.
            client.line.close()
            try look()
        case 190..<196: try takeSnapshot()
        default:
            guard case .works = bus.disk else { return }
            try bus.restart()
            restarts += 1
        }
    }

    /// Everybody takes what there is, and the states are written down.
    private func look() throws {
        if bus.engine.unavailableReason != nil {
            failures += 1
            digests = digests.filter { $0.key <= bus.engine.revision }
        }
        digests[bus.engine.revision] = bus.engine.stateDigest
        for client in clients {
            try client.takeAll(bus.engine.durableRevision)
            if client.line.isEnded { try client.connect(to: bus) }
        }
    }

    private func crash() throws {
        let old = bus
        bus = try old.crash(finishingWrite: Bool.random(using: &random))
        crashes += 1
        // What had left before is with the clients; the rest is gone.
        let written = bus.engine.durableRevision
        digests = digests.filter { $0.key <= written && $0.key <= old.engine.revision }
        if old.engine.durableRevision > written { throw Violation("Commits on disk are gone.") }
        // Only what was on disk is still true, as the next bus may have gone on otherwise.
        let common = old.engine.durableRevision
        digests = digests.filter { $0.key <= common }
        for client in clients {
            try client.takeAll(common)
            try client.connect(to: bus)
        }
    }

    private func takeSnapshot() throws {
        guard let log = bus.written, let oldest = log.snapshotBytes.keys.min() else { return }
        let revision = Int.random(in: oldest...bus.engine.durableRevision, using: &random)
        log.takeSnapshot(try bus.past(at: revision))
        snapshots += 1
        if random.oneIn(3) { log.forget(before: revision) }
    }

    private func finish() throws {
        bus.disk = .works
        for client in clients { client.line.isReading = true }
        for _ in 0..<20 {
            try look()
            for client in clients { client.retry() }
            bus.settle()
        }
        try look()
        let revision = bus.engine.revision
        for client in clients { try client.end(at: revision) }
        if !clients.allSatisfy({ $0.toRetry.isEmpty }) { throw Violation("Retries never end.") }
        bus.disk = .works
        digests[bus.engine.revision] = bus.engine.stateDigest
        let left = bus.engine.addresses(ofType: "tree").filter { $0.hasPrefix("tree/e") }
        if !left.isEmpty { throw Violation("Their clients are gone, but there are \(left).") }
        guard let log = bus.written?.whole() else { return }
        try ledger.compare(with: log, hadTrouble: failures > 0)
        try ledger.compareViews(with: log, by: &model, digests: digests, from: bus)
        (sharedEntries, entriesReadInPlace) = (ledger.sharedEntries, ledger.entriesReadInPlace)
        let last = try bus.crash()
        guard last.engine.stateDigest == bus.engine.stateDigest, last.engine.revision == bus.engine.revision
        else {
            throw Violation("The next start makes something else of the log.")
        }
    }

    // MARK: - Requests

    /// Several clients send several lines each, all of which come in one turn.
    private func talk() throws {
        let talking = clients.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
        sharedTurns += talking.count > 1 ? 1 : 0
        for client in talking {
            let count = Int.random(in: 1...4, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: for _ in 0..<count { try repeatHabit(client) }
            case 4, 5: for _ in 0..<count { client.commitUnmarked() }
            case 6 where random.oneIn(3): try remakeStores(client)
            default: for _ in 0..<count { try request(client) }
            }
        }
    }

    /// The same dispatch again, with other numbers.
    private func repeatHabit(_ client: LogClient) throws {
        if client.habit.isEmpty || random.oneIn(12) { client.habit = someDispatch() }
        client.habit["payload"] = .object(somePayload(for: client.habit["action"]?.string ?? ""))
        try client.commit(client.habit, key: nil, isSilent: random.oneIn(4), epoch: bus.epoch)
    }

    /// Two stores go and come back, each perhaps in the place of the other, and mean what their names say.
    private func remakeStores(_ client: LogClient) throws {
        let pair = ["note/x\(client.uid)", "note/y\(client.uid)"]
        for _ in 0..<2 {
            for store in pair {
                client.sendOther(["op": "create", "store": .string(store), "ifMissing": true])
            }
            try client.commit(
                ["op": "dispatch", "store": .string(pair[0]), "action": "add", "payload": ["by": 1]],
                key: nil,
                isSilent: false, epoch: bus.epoch)
            for store in pair { client.sendOther(["op": "drop", "store": .string(store)]) }
        }
    }

    private func request(_ client: LogClient) throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<8:
            client.sendOther([
                "op": "create", "store": .string(someStore()), "ifMissing": true,
            ])
        case 8..<12: client.sendOther(["op": "drop", "store": .string(someStore())])
        case 12..<15:
            let store = "tree/e\(Int.random(in: 0..<9, using: &random))"
            client.sendOther(["op": "create", "store": .string(store), "ephemeral": true])
        case 15..<18: client.leaveWill(random.oneIn(3))
        case 18..<24 where client.mirrors.count < 4:
            client.subscribe(someSubscription(), since: nil, bus.epoch)
        case 24..<26: client.subscribeToActions(since: nil, bus.epoch)
        case 26..<28:
            let since = Int.random(in: 0...max(1, client.lastSeen), using: &random)
            client.sendOther(["op": "history", "since": .int(since), "limit": 5])
        case 28..<30:
            let past = Int.random(in: 0...max(1, client.lastSeen), using: &random)
            client.sendOther(["op": "get", "type": "note", "revision": .int(past)])
        case 30..<32:
            let past = Int.random(in: 0...max(1, client.lastSeen), using: &random)
            client.sendOther(["op": "revert", "store": .string(someStore()), "revision": .int(past)])
        case 32..<35: client.sendOther(["op": "get", "match": "*/*"])
        case 35..<37: client.sendOther(["op": "ping"])
        case 37..<40: client.retry()
        default:
            let isKeyed = random.oneIn(3)
            try client.commit(
                someDispatch(), key: isKeyed ? "k" : nil, isSilent: !isKeyed && random.oneIn(4),
                epoch: bus.epoch)
        }
    }

    private func someStore() -> String {
        "\(["note", "tree"].randomElement(using: &random) ?? "note")/s\(Int.random(in: 0..<6, using: &random))"
    }

    private func someSubscription() -> SubscriptionRequest {
        let kinds = [
            ("type", "note"), ("type", "tree"), ("match", "*/*"), ("match", "t*/s*"), ("store", "note/s1"),
            ("match", "*/s2"),
        ]
        let (kind, text) = kinds.randomElement(using: &random) ?? kinds[0]
        let pointers: [[String]]? =
            [nil, nil, [["count"]], [["map", "a"], ["count"]], [["list", "0"]]]
            .randomElement(using: &random) ?? nil
        let format = ["merge", "patch", "state"].randomElement(using: &random) ?? "merge"
        return SubscriptionRequest(kind: kind, text: text, pointers: pointers, format: format)
    }

    private func someDispatch() -> JSONObject {
        let actions = [
            "add", "flip", "ring", "put", "push", "key", "forget", "mixed", "step", "guarded", "deepen",
            "element", "shift", "pay",
        ]
        let action = actions.randomElement(using: &random) ?? "add"
        var members: JSONObject = [
            "op": "dispatch", "action": .string(action), "payload": .object(somePayload(for: action)),
        ]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: members["type"] = .string(["note", "tree"].randomElement(using: &random) ?? "note")
        case 1: members["type"] = "*"
        default: members["store"] = .string(someStore())
        }
        return members
    }

    private func somePayload(for action: String) -> JSONObject {
        let key = JSON.string(["a", "b", "x"].randomElement(using: &random) ?? "a")
        let index = JSON.int(Int.random(in: 0..<3, using: &random))
        switch action {
        case "add": return ["by": .int(Int.random(in: -3..<4, using: &random))]
        case "step": return random.oneIn(2) ? [:] : ["by": .int(Int.random(in: -3..<3, using: &random))]
        case "pay": return ["by": .int([1, 7, .max, .min].randomElement(using: &random) ?? 1)]
        case "guarded": return random.oneIn(2) ? [:] : ["least": .int(Int.random(in: -4..<4, using: &random))]
        case "flip", "ring": return [:]
        case "forget": return ["key": key]
        case "shift": return ["index": index]
        default: break
        }
        let value = randomJSON(using: &random, depth: 3)
        switch action {
        case "put", "push": return ["value": value]
        case "element": return ["index": index, "value": value]
        default: return ["key": key, "value": value]
        }
    }
}
