import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusMachine
import BusServer
import TestStorage
import TestSupport
import Testing

/// One bus whose log keeps of some types everything, of one only its stores and of one what its definition says, through many ends;
/// and a client that sends its dispatches until they are answered, and follows all stores.
struct PolicyLife: LoggedLife {
    let seed: UInt64
    var random: SeededGenerator
    var disk = SimulatedDisk()
    var boot = 0
    var now = 1_795_000_000_000
    /// What the definition of `beat` says.
    private var policy = LogPolicy.none
    /// What the one in the log may say: more than one where power was lost while a start replaced it.
    private var logged: Set<LogPolicy> = [.none]

    /// What the client knows.
    private var seen = 0
    private var mirror: [String: JSON] = [:]
    private var next = 0
    private var open: (line: String, kept: Int, unkept: Int, latest: Int)?
    /// How often the kept store was incremented by commits that were answered, and the other one in this run.
    private var kept = 0
    private var unkept = 0
    /// And that of which there is no past.
    private var latest = 0
    /// What was kept of `counter/main` at some revisions.
    private var past: [Int: Int] = [:]

    private(set) var resumed = 0
    private(set) var resets = 0
    private(set) var freeCommits = 0
    private(set) var duplicates = 0
    private(set) var reloads = 0
    private(set) var thinned = 0
    private(set) var asked = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    mutating func run(until end: LifeEnd) throws {
        try live(until: end) { life in
            let bus = try life.start()
            let steps = end == .powerLoss ? 1000 : Int.random(in: 1...50, using: &life.random)
            for step in 0..<steps { try life.work(bus, step) }
            if end == .stop { try life.stop(bus) }
        }
    }

    mutating func finish() throws {
        let bus = try start()
        for step in 0..<10 { try work(bus, step) }
        while open != nil { try work(bus, 1) }
        #expect(bus.engine.state(at: "counter/main")?["count"]?.int == kept, "seed \(seed)")
        #expect(bus.engine.state(at: "gauge/main")?["count"]?.int == latest, "seed \(seed)")
        try verifyLog(of: bus)
    }

    // MARK: - The daemon

    private func definition(_ name: String, _ policy: LogPolicy) -> String {
        """
        type: \(name)
        log: { keep: \(policy.rawValue) }
        initial: { count: 0 }
        actions: { increment: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } } }
        """
    }

    private mutating func start() throws -> LoggedBus {
        if random.oneIn(4) {
            policy = LogPolicy.allCases.filter { $0 != policy }.randomElement(using: &random)!
            reloads += 1
        }
        let before = logged
        logged.insert(policy)
        let bus = try startBus(
            try SampleTypes.load(and: [definition("beat", policy), definition("gauge", .latest)]),
            ["counter/main", "beat/main", "gauge/main"], sync: .always
        ) { life in
            Issue.record("seed \(life.seed): commits may be lost")
            return nil
        }
        let engine = bus.engine
        #expect(engine.revision >= seen, "seed \(seed)")
        let count = engine.state(at: "beat/main")?["count"]?.int ?? -1
        // What was kept is there; of what was not kept nothing, nor anything that was never acknowledged.
        let kept = unkept...unkept + (open?.unkept ?? 0)
        #expect(
            before.contains(.none) && count == 0
                || before.contains { $0 != .none } && kept.contains(count),
            "seed \(seed): \(count)")
        let gauge = engine.state(at: "gauge/main")?["count"]?.int ?? -1
        #expect(latest...latest + (open?.latest ?? 0) ~= gauge, "seed \(seed): \(gauge)")
        (unkept, logged) = (count, [policy])
        try follow(bus)
        return bus
    }

    /// The client resumes from the last revision that it was told.
    private mutating func follow(_ bus: LoggedBus) throws {
        let since = seen > 0 ? #","since":\#(seen),"epoch":"epoch 0""# : ""
        for line in try ask(bus, #"{"op":"subscribe","format":"state","match":"*/main"\#(since)}"#)
        where line["event"] != nil {
            if line["reset"] == true { resets += 1 } else { resumed += 1 }
        }
        for store in ["counter/main", "gauge/main"] { try follow(bus, store, since) }
    }

    /// A store that is kept never needs a reset.
    private mutating func follow(_ bus: LoggedBus, _ store: String, _ since: String) throws {
        if since.isEmpty { return }
        for line in try ask(bus, #"{"op":"subscribe","format":"state","store":"\#(store)"\#(since)}"#)
        where line["event"] != nil {
            #expect(line["reset"] == nil, "seed \(seed): \(line)")
        }
    }

    private func stop(_ bus: LoggedBus) throws {
        try bus.write(whole: true)
        #expect(bus.file.lastRevision == bus.engine.revision, "seed \(seed)")
        if Bool(truncating: seed) { try snapshot(bus.engine.snapshot(), at: bus.engine.revision, bus.file) }
        try bus.file.close()
    }

    // MARK: - The client

    private mutating func work(_ bus: LoggedBus, _ step: Int) throws {
        now += Int.random(in: 0...3, using: &random)
        bus.engine.beginTurn(at: now)
        if open == nil { open = someDispatch() }
        let request = open!
        let told = seen
        let (before, isFree) = (disk.counts.bytes, request.kept + request.latest == 0 && policy == .none)
        let replies = try ask(bus, request.line)
        if isFree, step > 0, disk.counts.bytes == before { freeCommits += 1 }
        guard let reply = replies.first(where: { $0["ok"] != nil }) else { return }
        #expect(reply["ok"] == true, "seed \(seed): \(reply)")
        let revision = try #require(reply["revision"]?.int)
        if reply["duplicate"] == true {
            // The other part of it went with the run in which it was made.
            duplicates += 1
            kept += request.kept
            latest += request.latest
        } else {
            #expect(revision > told, "seed \(seed): a revision is used twice")
            kept += request.kept
            latest += request.latest
            unkept += request.unkept
        }
        seen = max(seen, revision)
        open = nil
        if random.oneIn(8) { past[revision] = kept }
        let states = ["counter/main", "beat/main", "gauge/main"].reduce(into: [String: JSON]()) {
            $0[$1] = bus.engine.state(at: $1).map(JSON.object)
        }
        #expect(states["beat/main"]?["count"]?.int == unkept || reply["duplicate"] == true, "seed \(seed)")
        unkept = states["beat/main"]?["count"]?.int ?? -1
        #expect(mirror == states, "seed \(seed)")
        if step % 16 == 11 {
            try takeSnapshot(of: bus, retaining: random.oneIn(8) ? 4096 : 1 << 20)
            try thin(bus)
            if random.oneIn(4) { try askAboutThePast(of: bus) }
        }
    }

    /// As the daemon does it, in steps; it may end in the midst of them.
    private mutating func thin(_ bus: LoggedBus) throws {
        let limits = bus.engine.pastRules.mapValues { HorizonLimit(age: $0.age, through: nil) }
        #expect(limits.keys.contains("gauge"))
        try bus.file.moveHorizons(limits, now: now)
        let before = bus.file.thinningSteps
        let budget = Int.random(in: 2...16, using: &random)
        while try bus.file.thin(budget: budget, rest: { Thinning($1).rest(ofGroup: $0) }) {
            if random.oneIn(20) { break }
        }
        thinned += bus.file.thinningSteps - before
    }

    /// What is kept whole is exact at every revision that the log reaches back to.
    private mutating func askAboutThePast(of bus: LoggedBus) throws {
        do {
            let log = LogPast(try LogReader(path: "log", vfs: disk.name))
            let oldest = try log.snapshots().first ?? 0
            for (revision, count) in past where revision >= oldest {
                let machine = try Replayer(knowing: [], hashSeed: 1).machine(at: revision, from: log)
                #expect(
                    machine.pastState(at: "counter/main")?.state["count"]?.int == count,
                    "seed \(seed): \(revision)")
                asked += 1
            }
            past = past.filter { $0.key >= oldest }
        } catch let failure as PastFailure {
            #expect(!disk.hasPower, "seed \(seed): \(failure)")
            throw LogFailure(.io, path: "log", failure.message)
        }
    }

    private mutating func someDispatch() -> (line: String, kept: Int, unkept: Int, latest: Int) {
        next += 1
        let key = #""key":"k\#(next)","after":\#(seen),"epoch":"epoch 0""#
        let (kept, unkept, latest) = (
            #"{"store":"counter/main","action":"increment"}"#, #"{"store":"beat/main","action":"increment"}"#,
            #"{"store":"gauge/main","action":"increment"}"#
        )
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return (#"{"op":"dispatch","store":"counter/main","action":"increment",\#(key)}"#, 1, 0, 0)
        case 1: return (#"{"op":"dispatch","type":"*","action":"increment",\#(key)}"#, 1, 1, 1)
        case 2:
            return (
                #"{"op":"dispatch","actions":[\#(unkept),\#(latest),\#(kept),\#(unkept)],\#(key)}"#, 1, 2, 1
            )
        case 3:
            let name = #""store":"beat/n\#(next)""#
            return (
                #"{"op":"dispatch","actions":[{"op":"create",\#(name)},\#(kept),{\#(name),"action":"increment"}],\#(key)}"#,
                1, 0, 0
            )
        case 4: return (#"{"op":"dispatch","type":"beat","action":"increment"}"#, 0, 1, 0)
        case 5, 6: return (#"{"op":"dispatch","store":"gauge/main","action":"increment",\#(key)}"#, 0, 0, 1)
        case 7:
            let name = #""store":"gauge/n\#(next)""#
            return (
                #"{"op":"dispatch","actions":[{"op":"create",\#(name)},\#(kept),{\#(name),"action":"increment"}],\#(key)}"#,
                1, 0, 0
            )
        default: return (#"{"op":"dispatch","store":"beat/main","action":"increment"}"#, 0, 1, 0)
        }
    }

    /// Sends a line, brings what it commits to the disk, and takes what comes.
    private mutating func ask(_ bus: LoggedBus, _ line: String) throws -> [JSON] {
        bus.send(line)
        try bus.write()
        bus.engine.serveAll()
        try bus.write()
        let lines = try bus.heard()
        for line in lines where line["event"] == "change" && line["sub"] == 1 { apply(line) }
        for line in lines { seen = max(seen, line["event"] == nil ? 0 : line["revision"]?.int ?? 0) }
        return lines
    }

    private mutating func apply(_ line: JSON) {
        if line["reset"] == true { mirror = [:] }
        for member in line["states"]?.object?.members ?? [] { mirror[member.key] = member.value }
        for dropped in line["dropped"]?.array ?? [] { mirror[dropped.string ?? ""] = nil }
    }
}

extension Bool {
    fileprivate init(truncating seed: UInt64) { self = seed & 1 == 1 }
}
