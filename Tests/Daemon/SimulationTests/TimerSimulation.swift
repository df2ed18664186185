import BusEngine
import BusJSON
import BusLogic
import BusMachine
import TestSupport

/// A bus that lives by time: clients schedule, cancel and renew, while its clock goes back and forth, its disk fails, and
/// daemons follow each other; all from a seed. Everything that anybody was told is compared with the log, and the log with
/// a model.
final class TimerSimulation {
    private var random: SeededGenerator
    private var bus: MemoryBus
    private var client: MemoryClient
    private var digests: [Int: String] = [:]
    /// Schedules that were answered: revision, timer and time.
    private var promises: [(revision: Int, timer: String, due: Int)] = []
    private(set) var model = TimerModel()
    private(set) var crashes = 0
    private(set) var restarts = 0
    private(set) var rewinds = 0
    private(set) var stepsBack = 0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var setup = MemoryBus.Setup()
        setup.log = MemoryLog()
        setup.definitions = TimerModel.definitions
        setup.stores = ["clock/s0", "clock/s1", "mayfly/s0"]
        setup.limits.daemon.sliceWork = [200, 100_000][Int(seed % 2)]
        setup.limits.daemon.turnWork = [2000, 2_000_000][Int(seed % 2)]
        bus = try MemoryBus(setup)
        client = bus.connect(uid: 0)
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            try step()
            try look()
        }
        try finish()
    }

    private func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60:
            for _ in 0..<Int.random(in: 1...4, using: &random) { client.queue(someRequest()) }
            bus.settle()
        case 60..<82: try passTime()
        case 82..<90:
            bus.disk = [.works, .works, .isBusy, .fails].randomElement(using: &random) ?? .works
        case 90..<93: try crash()
        case 93..<95: try takeSnapshot()
        case 95..<97: bus.finishWrite()
        default:
            guard case .works = bus.disk else { return }
            try bus.restart()
            restarts += 1
        }
    }

    /// Mostly a little; sometimes so much that many things become due at once, and sometimes the clock is set back.
    private func passTime() throws {
        if random.oneIn(6) {
            stepsBack += 1
            return bus.advance(milliseconds: -Int.random(in: 1..<20_000, using: &random))
        }
        let longest = random.oneIn(4) ? 60_000 : 4000
        bus.advance(milliseconds: Int.random(in: 0..<longest, using: &random))
    }

    private func crash() throws {
        let old = bus
        bus = try old.crash(finishingWrite: Bool.random(using: &random))
        crashes += 1
        let common = old.engine.durableRevision
        digests = digests.filter { $0.key <= common }
        try takeReplies(from: client)
        client = bus.connect(uid: 0)
    }

    private func takeSnapshot() throws {
        guard let log = bus.written, let oldest = log.snapshotBytes.keys.min() else { return }
        let revision = Int.random(in: oldest...bus.engine.durableRevision, using: &random)
        log.takeSnapshot(try bus.past(at: revision))
        if random.oneIn(3) { log.forget(before: revision) }
    }

    private func look() throws {
        if bus.engine.unavailableReason != nil {
            rewinds += 1
            digests = digests.filter { $0.key <= bus.engine.revision }
        }
        digests[bus.engine.revision] = bus.engine.stateDigest
        try takeReplies(from: client)
        if client.isEnded { client = bus.connect(uid: 0) }
    }

    private func takeReplies(from client: MemoryClient) throws {
        while let reply = try client.next() {
            // A dry run promises nothing.
            guard reply["id"] == nil, let revision = reply["revision"]?.int, let due = reply["due"]?.double
            else { continue }
            promises.append((revision, reply["timer"]?.string ?? "", Int((due * 1000).rounded())))
        }
    }

    // MARK: The end

    private func finish() throws {
        bus.disk = .works
        bus.settle()
        bus.advance(milliseconds: 100_000)
        for _ in 0..<5 { bus.advance(milliseconds: 700) }
        try look()
        guard let log = bus.written?.whole() else { return }
        try replay(log)
        guard model.revision == bus.engine.revision else {
            throw Violation("The log ends at \(model.revision), the bus at \(bus.engine.revision).")
        }
        // All that was due has happened.
        let overdue = model.overdue(at: bus.engine.lastTime)
        if overdue > 0 { throw Violation("\(overdue) things are due and did not happen.") }
        try compareStates()
        try compareDigests(log)
    }

    private func replay(_ log: MemoryLog) throws {
        var scheduled: [Int: JSON] = [:]
        for line in log.lines {
            let entry = try JSON(parsing: line, depthLimit: 1000)
            if entry["revision"] == nil { continue }
            try model.replay(entry)
            if let timer = entry["scheduled"] { scheduled[model.revision] = timer }
        }
        for promise in promises {
            let timer = scheduled[promise.revision]
            guard timer?["timer"]?.string == promise.timer,
                timer?["due"]?.double == Double(promise.due) / 1000
            else { throw Violation("\(promise) was promised, and the log has \(timer ?? .null).") }
        }
    }

    private func compareStates() throws {
        var counts: [String: Int] = [:]
        for store in model.stores { counts[store.address] = store.count }
        var states: [String: Int] = [:]
        for type in ["clock", "mayfly"] {
            for address in bus.engine.addresses(ofType: type) {
                states[address] = bus.engine.state(at: address)?["count"]?.int
            }
        }
        guard counts == states else { throw Violation("The model has \(counts), the bus \(states).") }
        client.send(#"{"op":"timers"}"#)
        let listed = try client.all().last?["timers"]?.array?.map { timer in
            "\(timer["store"]?.string ?? timer["type"]?.string ?? "") \(timer["timer"]?.string ?? "") \(timer["due"]?.double ?? 0)"
        }
        let expected = model.timers.map { "\($0.owner) \($0.name) \(Double($0.due) / 1000)" }
        guard listed?.sorted() == expected.sorted() else {
            throw Violation("The model has \(expected), the bus \(listed ?? []).")
        }
    }

    private func compareDigests(_ log: MemoryLog) throws {
        let replayer = try bus.replay()
        for start in log.snapshotBytes.keys.sorted() {
            let machine = try replayer.restored(start, from: log)
            for (revision, digest) in digests.sorted(by: { $0.key < $1.key }) where revision >= start {
                try replayer.advance(machine, to: revision, from: log)
                guard machine.stateDigest == digest else {
                    throw Violation("From \(start) on, the log makes another bus at \(revision).")
                }
            }
        }
    }

    // MARK: Requests

    private func someRequest() -> String {
        let store = someStore()
        switch Int.random(in: 0..<30, using: &random) {
        case 0..<4: return #"{"op":"create","store":"\#(store)"\#(someLease())}"#
        case 4: return #"{"op":"create","store":"\#(store)","ephemeral":true}"#
        case 5: return #"{"op":"drop","store":"\#(store)"}"#
        case 6, 7: return #"{"op":"cancel","store":"\#(store)","timer":"\#(someName())"}"#
        case 8: return #"{"op":"cancel","type":"\#(someType())","timer":"\#(someName())"}"#
        case 9..<19: return #"{"op":"dispatch",\#(someAction(store)),\#(someTime())}"#
        case 19: return #"{"op":"dispatch",\#(someAction(store)),\#(someTime()),"dryRun":true,"id":"dry"}"#
        case 20:
            return
                #"{"op":"dispatch","actions":[{\#(someAction(store))},{\#(someAction(someStore()))}]}"#
        default: return #"{"op":"dispatch",\#(someAction(store))}"#
        }
    }

    private func someStore() -> String {
        random.oneIn(2)
            ? "clock/s\(Int.random(in: 0..<4, using: &random))"
            : "mayfly/s\(Int.random(in: 0..<9, using: &random))"
    }

    private func someType() -> String { ["clock", "mayfly", "*"].randomElement(using: &random) ?? "*" }
    private func someName() -> String { ["a", "b", "c", "x", "y"].randomElement(using: &random) ?? "x" }
    private func someLease() -> String {
        ["", "", #","ttl":null"#, #","ttl":"2500ms""#].randomElement(using: &random) ?? ""
    }

    private func someAction(_ store: String) -> String {
        let names = ["start", "both", "tick", "tick", "odd", "chain", "stop", "look"]
        let name = names.randomElement(using: &random) ?? "tick"
        let target = random.oneIn(4) ? #""type":"\#(someType())""# : #""store":"\#(store)""#
        let milliseconds = Int.random(in: 0..<9000, using: &random)
        let payload = ["start", "both"].contains(name) ? #","payload":{"ms":\#(milliseconds)}"# : ""
        return #"\#(target),"action":"\#(name)"\#(payload)"#
    }

    private func someTime() -> String {
        let name = random.oneIn(3) ? #","timer":"\#(someName())""# : ""
        let milliseconds = Int.random(in: 0..<15_000, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return #""in":"\#(milliseconds)ms"\#(name)"#
        case 1: return #""in":\#(Double(milliseconds) / 1000)\#(name)"#
        default: return #""at":\#(Double(bus.now + milliseconds - 2000) / 1000)\#(name)"#
        }
    }
}
