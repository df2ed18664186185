import BusEngine
import BusHistory
import BusJSON
import BusMachine
import Foundation
import TestModes
import TestSupport
import Testing

/// Views are what a model makes of all states at each revision, whatever happens to the bus: dispatches, creates, drops, reverts,
/// reloads of other views, restarts, resumptions; also those of the past.
///
/// FLUXBUS_VIEW_REQUESTS sets how many requests are made, FLUXBUS_VIEW_SEED the first seed.
@Suite(.inBothModes) struct ViewModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let requests = Int(environment["FLUXBUS_VIEW_REQUESTS"] ?? "") ?? 3000
    private static let seed = UInt64(environment["FLUXBUS_VIEW_SEED"] ?? "") ?? 1
    private static let requestsOfSeed = 150

    @Test func viewsAreWhatAllStatesMakeThem() throws {
        var figures: [String: Int] = [:]
        for seed in Self.seed..<Self.seed + UInt64(Self.requests / Self.requestsOfSeed) {
            var run = try ViewRun(seed: seed)
            do {
                for _ in 0..<Self.requestsOfSeed { try run.step() }
            } catch {
                Issue.record("Seed \(seed), step \(run.steps), \(run.last): \(error)\n\(run.definitions)")
                return
            }
            figures.merge(run.figures) { $0 + $1 }
        }
        for corner in ["commits", "made", "gone", "reloads", "crashes", "resumed", "past"] {
            #expect(figures[corner, default: 0] > 0, "Nothing of \(corner) happened: \(figures)")
        }
        if Self.requests > 3000 { print("Views:", figures.sorted { $0.key < $1.key }) }
    }
}

/// One bus from a seed.
private struct ViewRun {
    struct Difference: Error { let reason: String }

    private var generator: SeededGenerator
    private var bus: MemoryBus
    private var client: MemoryClient
    private var watcher: MemoryClient
    private var mirror = ContractMirror()
    private var views: [ViewModel]
    /// Mirrors of clients that are away.
    private var away: [ContractMirror] = []
    /// What the views were at revisions before.
    private var past: [(revision: Int, states: [String: JSON])] = []
    private(set) var figures: [String: Int] = [:]
    private(set) var steps = 0
    private(set) var last = ""

    private static func source(_ name: String) -> String {
        """
        type: \(name)
        state:
          floor: { type: any, default: ground }
          measured: { type: any, default: null }
          power: { type: any, default: 0 }
          on: { type: any, default: false }
          mode: { type: any, default: auto }
          other: { type: integer, default: 0 }
        computed: { warm: measured > 18 }
        actions:
          put:
            payload: { floor: any?, measured: any?, power: any?, on: any?, mode: any? }
            patch: = payload
          poke: { increment: { other: 1 } }
        """
    }

    var definitions: [String] { [Self.source("room"), Self.source("window")] + views.map(\.yaml) }

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        views = ViewModel.random(&generator)
        var setup = MemoryBus.Setup()
        setup.log = MemoryLog()
        setup.definitions = [Self.source("room"), Self.source("window")] + views.map(\.yaml)
        bus = try MemoryBus(setup)
        client = bus.connect(uid: 0)
        watcher = bus.connect(uid: 0)
        try mirror.take(watcher.ask(#"{"op":"subscribe","match":"*/*"}"#))
    }

    private mutating func count(_ figure: String) { figures[figure, default: 0] += 1 }

    mutating func step() throws {
        steps += 1
        switch Int.random(in: 0..<40, using: &generator) {
        case 0: try reload()
        case 1: try crash()
        case 2: try restart()
        case 3: away.append(mirror)
        case 4: try look()
        case 5:
            // Several commits come in one turn.
            for _ in 0..<3 { client.queue(request()) }
            client.send(request())
        case 6:
            watcher.isReading = false
            for _ in 0..<3 { try ask(request()) }
            watcher.isReading = true
        default: try ask(request())
        }
        _ = try client.all()
        try mirror.take(watcher.all())
        try check()
    }

    private mutating func ask(_ line: String) throws {
        last = line
        if try client.ask(line).contains(where: { $0["ok"] == true && $0["revision"] != nil }) {
            count("commits")
        }
    }

    // MARK: Requests

    private mutating func address() -> String {
        "\(["room", "window"].randomElement(using: &generator)!)/\("abcdef".randomElement(using: &generator)!)"
    }

    private mutating func value(of member: String) -> JSON {
        switch member {
        case "floor":
            return
                ([
                    "ground", "attic", "cellar", "1st floor", 3, -3, true, .null, 1.5, "",
                ] as [JSON]).randomElement(using: &generator)!
        case "on": return ([true, false, true, false, .null, 1] as [JSON]).randomElement(using: &generator)!
        case "mode":
            return (["auto", "off", "\u{e9}", "e\u{301}", 5, .null] as [JSON]).randomElement(
                using: &generator)!
        default:
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: return .null
            case 1: return "warm"
            case 2: return .double(-0.0)
            case 3: return .double(Double(Int.random(in: -50...50, using: &generator)))
            case 4: return .int(Int.random(in: .min ... .max, using: &generator) >> 12)
            case 5: return .double(Double(Int.random(in: -(1 << 49)...(1 << 49), using: &generator)) / 1024)
            default: return .int(Int.random(in: 0...40, using: &generator))
            }
        }
    }

    private mutating func payload() -> JSON {
        var payload = JSONObject()
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let member = ["floor", "measured", "power", "on", "mode"].randomElement(using: &generator)!
            payload[member] = value(of: member)
        }
        return .object(payload)
    }

    private mutating func request() -> String {
        let address = address()
        switch Int.random(in: 0..<20, using: &generator) {
        case 0...3: return #"{"op":"create","store":"\#(address)","state":\#(payload().encoded)}"#
        case 4: return #"{"op":"drop","store":"\#(address)"}"#
        case 5:
            let type = ["room", "window", "*"].randomElement(using: &generator)!
            return #"{"op":"dispatch","type":"\#(type)","action":"put","payload":\#(payload().encoded)}"#
        case 6: return #"{"op":"dispatch","store":"\#(address)","action":"poke"}"#
        case 7:
            let other = self.address()
            return
                #"{"op":"dispatch","actions":[{"op":"drop","store":"\#(address)"},{"op":"create","store":"\#(address)","state":\#(payload().encoded)},{"store":"\#(address)","action":"put","payload":\#(payload().encoded)},{"op":"create","store":"\#(other)","ifMissing":true}]}"#
        case 8:
            return
                #"{"op":"dispatch","actions":[{"store":"\#(address)","action":"put","payload":\#(payload().encoded)},{"store":"\#(address)","action":"put","payload":\#(payload().encoded)},{"type":"room","action":"poke"}]}"#
        case 9:
            let revision = Int.random(in: 1...max(1, bus.engine.revision), using: &generator)
            return #"{"op":"revert","store":"\#(address)","revision":\#(revision)}"#
        default:
            return #"{"op":"dispatch","store":"\#(address)","action":"put","payload":\#(payload().encoded)}"#
        }
    }

    // MARK: The world

    private mutating func reload() throws {
        views = ViewModel.random(&generator)
        bus.definitions = definitions
        last = "reload"
        let reply = try client.ask(#"{"op":"reload"}"#).last { $0["ok"] != nil }
        guard reply?["ok"] == true else { throw Difference(reason: "A reload is refused: \(reply ?? .null)") }
        count("reloads")
    }

    /// The bus is gone, and another one makes what it was of the log: from a snapshot, mostly.
    private mutating func crash() throws {
        last = "crash"
        if bus.written?.snapshotBytes.isEmpty == false, generator.oneIn(2) {
            bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        }
        let stores = try client.ask(#"{"op":"stores"}"#).last?["stores"]
        bus = try bus.crash()
        client = bus.connect(uid: 0)
        watcher = bus.connect(uid: 0)
        let now = try client.ask(#"{"op":"stores"}"#).last?["stores"]
        guard now == stores else {
            throw Difference(reason: "Stores were \(stores ?? .null), and are \(now ?? .null).")
        }
        mirror = try resumed(mirror, watcher)
        for other in away {
            let states = try resumed(other, bus.connect(uid: 0)).states
            guard states == mirror.states else { throw Difference(reason: "What resumes has \(states).") }
            count("resumed")
        }
        away = []
        count("crashes")
    }

    private func resumed(_ mirror: ContractMirror, _ client: MemoryClient) throws -> ContractMirror {
        var mirror = mirror
        let epoch = bus.engine.epoch
        try mirror.take(
            client.ask(
                #"{"op":"subscribe","match":"*/*","since":\#(mirror.revision ?? 0),"epoch":"\#(epoch)"}"#))
        return mirror
    }

    /// Another daemon takes over, and its clients do not notice.
    private mutating func restart() throws {
        if BusMode.current == .shared { return }
        last = "restart"
        try bus.restart(definitions: definitions)
        count("restarts")
    }

    /// Looks at what was.
    private mutating func look() throws {
        guard let (revision, states) = past.randomElement(using: &generator) else { return }
        last = "past \(revision)"
        let reply = try client.ask(#"{"op":"get","match":"*/*","revision":\#(revision)}"#).last {
            $0["ok"] != nil
        }
        guard let found = reply?["states"]?.object else {
            throw Difference(reason: "The past is not told: \(reply ?? .null)")
        }
        try compare(
            Dictionary(uniqueKeysWithValues: found.members.map { ($0.key, $0.value) }), states,
            "At \(revision)")
        count("past")
    }

    // MARK: The model

    private mutating func check() throws {
        var all: [String: JSONObject] = [:]
        for (address, state) in mirror.states
        where ["room", "window"].contains(String(address.prefix { $0 != "/" })) {
            all[address] = state.object
        }
        var expected: [String: JSON] = [:]
        for view in views {
            for (address, state) in view.states(of: all) {
                expected[address] = state
                all[address] = state.object
            }
        }
        for (address, state) in all where expected[address] == nil { expected[address] = .object(state) }
        try compare(mirror.states, expected, "Now")
        var read: [String: JSON] = [:]
        for member in try client.ask(#"{"op":"get","match":"*/*"}"#).last?["states"]?.object ?? [:] {
            read[member.key] = member.value
        }
        try compare(read, expected, "Read")
        let before = past.last?.states ?? [:]
        figures["made", default: 0] += expected.keys.count { before[$0] == nil }
        figures["gone", default: 0] += before.keys.count { expected[$0] == nil }
        past.append((bus.engine.revision, expected))
        if past.count > 100 { past.removeFirst() }
        if away.count > 4 { away.removeFirst() }
    }

    private func compare(_ found: [String: JSON], _ expected: [String: JSON], _ what: String) throws {
        for address in Set(found.keys).union(expected.keys).sorted() where found[address] != expected[address]
        {
            throw Difference(
                reason:
                    "\(what): \(address) is \(found[address] ?? "not there"), and should be \(expected[address] ?? "not there")."
            )
        }
    }
}
