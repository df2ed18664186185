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

/// One bus with types of every reach, through many starts, by a clock that is also set back; its log is thinned as the daemon does it.
/// What it tells of the past is what the model says.
struct ReachLife: LoggedLife {
    let seed: UInt64
    var random: SeededGenerator
    var disk = SimulatedDisk()
    var boot = 0
    var now = 1_795_000_000_000
    private let reaches: [String: LogReach]
    private let types: [String]
    private var model: ReachModel
    private var revision = 0
    /// When all stores were there.
    private var created = 0
    /// Whether the last thinning has come to its end.
    private var isThinned = true

    private(set) var gone = 0
    private(set) var known = 0
    private(set) var gaps = 0
    private(set) var interrupted = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        reaches = [
            "aged": LogReach(age: Int.random(in: 1...60, using: &random) * 1000),
            "counted": LogReach(commits: Int.random(in: 1...20, using: &random)),
            "both": LogReach(
                age: Int.random(in: 1...60, using: &random) * 1000,
                commits: Int.random(in: 1...20, using: &random)),
            "latest": .nothing, "whole": .whole,
        ]
        types = reaches.keys.sorted()
        model = ReachModel(reaches)
    }

    mutating func run(until end: LifeEnd) throws {
        try live(until: end) { life in
            let bus = try life.start()
            for _ in 0..<Int.random(in: 10...60, using: &life.random) { try life.work(bus) }
            try life.ask(bus, hasOnlyStarted: false)
            if end == .stop { try bus.file.close() }
        }
    }

    // MARK: - The daemon

    private func definition(_ type: String) -> String {
        let reach = reaches[type]!
        var log = ["keep: \(type == "latest" ? "latest" : "all")"]
        if type != "latest", let age = reach.age { log.append("for: \(age / 1000)s") }
        if let commits = reach.commits { log.append("commits: \(commits)") }
        return """
            type: \(type)
            log: { \(log.joined(separator: ", ")) }
            initial: { count: 0 }
            actions: { grow: { increment: { count: 1 } } }
            """
    }

    private mutating func start() throws -> LoggedBus {
        let bus = try startBus(
            try SampleTypes.load(and: types.map(definition)), types.map { "\($0)/main" }, sync: .always
        ) { _ in nil }
        if revision == 0 {
            // The first commit puts the policies in force, the next ones create the stores.
            for (index, type) in types.enumerated() { model.note(index + 2, type, actions: 0) }
            created = types.count + 1
            #expect(bus.engine.revision == created)
        } else {
            #expect(bus.engine.revision == revision, "seed \(seed)")
        }
        revision = bus.engine.revision
        try lookAtSnapshots()
        if revision > created { try ask(bus, hasOnlyStarted: true) }
        return bus
    }

    private mutating func lookAtSnapshots() throws {
        model.snapshots = try LogReader(path: "log", vfs: disk.name).snapshots()
            .map { ($0.revision, $0.time) }.sorted { $0.0 < $1.0 }
    }

    private mutating func work(_ bus: LoggedBus) throws {
        // Somebody sets the clock.
        now +=
            random.oneIn(12)
            ? Int.random(in: -40_000...80_000, using: &random)
            : Int.random(in: 0...2000, using: &random)
        bus.engine.beginTurn(at: now)
        switch Int.random(in: 0..<16, using: &random) {
        case 0:
            try takeSnapshot(of: bus, retaining: random.oneIn(6) ? 4096 : 1 << 20)
            try lookAtSnapshots()
        case 1, 2: try thin(bus)
        case 3: try dispatch(bus, #""type":"*","action":"grow""#, types)
        case 4, 5:
            let wanted = (0..<Int.random(in: 2...6, using: &random)).map { _ in
                types.randomElement(using: &random)!
            }
            let actions = wanted.map { #"{"store":"\#($0)/main","action":"grow"}"# }
            try dispatch(bus, #""actions":[\#(actions.joined(separator: ","))]"#, wanted)
        default:
            let type = types.randomElement(using: &random)!
            try dispatch(bus, #""store":"\#(type)/main","action":"grow""#, [type])
        }
    }

    private mutating func dispatch(_ bus: LoggedBus, _ what: String, _ wanted: [String]) throws {
        let reply = try answer(bus, #"{"op":"dispatch",\#(what)}"#)
        revision = try #require(reply["revision"]?.int, "seed \(seed): \(reply)")
        for type in types {
            let count = wanted.count { $0 == type }
            if count > 0 { model.note(revision, type, actions: count, isForAll: what.contains("*")) }
        }
    }

    /// As the daemon does it, in steps; it may be interrupted.
    private mutating func thin(_ bus: LoggedBus) throws {
        let past = LogPast(try LogReader(path: "log", vfs: disk.name))
        try bus.file.moveHorizons(
            past.limits(by: bus.engine.pastRules, through: bus.file.lastRevision), now: now)
        try lookAtSnapshots()
        model.thin(at: now)
        isThinned = true
        while try bus.file.thin(budget: 2, rest: { Thinning($1).rest(ofGroup: $0) }) {
            guard random.oneIn(8) else { continue }
            (isThinned, interrupted) = (false, interrupted + 1)
            break
        }
    }

    // MARK: - The client

    /// Asks about the past in every way.
    private mutating func ask(_ bus: LoggedBus, hasOnlyStarted: Bool) throws {
        for type in types where type != "latest" {
            let history = try answer(bus, #"{"op":"history","type":"\#(type)","limit":1000}"#)
            let told = history["commits"]?.array?.compactMap { $0["revision"]?.int }
            #expect(told == model.history(of: type), "seed \(seed): \(type)")
            #expect(history["oldest"]?.int == model.knownSince(type), "seed \(seed): \(type)")
            let revision = Int.random(
                in: max(created, model.snapshots[0].revision)...revision, using: &random)
            let line = #"{"op":"get","store":"\#(type)/main","revision":\#(revision)}"#
            let reply = try answer(bus, line)
            if let count = model.count(of: type, at: revision) {
                known += 1
                #expect(
                    reply["states"]?["\(type)/main"]?["count"]?.int == count,
                    "seed \(seed): \(line) \(reply)")
            } else {
                gone += 1
                #expect(reply["error"]?["code"] == "gone", "seed \(seed): \(line) \(reply)")
                #expect(reply["error"]?["oldest"]?.int == model.knownSince(type), "seed \(seed): \(line)")
            }
        }
        for type in types { try follow(bus, [type], "\(type)/*", isExact: hasOnlyStarted) }
        try follow(bus, types, "*/main", isExact: hasOnlyStarted && isThinned)
    }

    /// Subscribes to actions of the past. Where all of it comes from the log, and that has nothing else, it is as the model says; else
    /// there may be more, but what is missing is told.
    private mutating func follow(
        _ bus: LoggedBus, _ types: [String], _ match: String, isExact: Bool
    ) throws {
        let since = Int.random(in: 0..<revision, using: &random)
        let lines = try ask(
            bus,
            #"{"op":"subscribe","match":"\#(match)","actions":true,"since":\#(since),"epoch":"epoch 0"}"#)
        let sub = try #require(lines.first { $0["ok"] == true }?["sub"]?.int)
        let events = lines.filter { $0["sub"]?.int == sub && $0["event"] != nil }
        try answer(bus, #"{"op":"unsubscribe","sub":\#(sub)}"#)
        func actions(_ events: some Sequence<JSON>) -> [String] {
            events.flatMap { event in
                let type = event["store"]?.string.map { String($0.prefix { $0 != "/" }) }
                return (type.map { [$0] } ?? types).map { "\(event["revision"]!.int!) \($0)" }
            }
            .sorted()
        }
        let comment = Comment("seed \(seed): \(match) since \(since): \(events)")
        let place = events.firstIndex { $0["event"] == "gap" }
        let (early, late) = (events[..<(place ?? 0)], events[(place.map { $0 + 1 } ?? 0)...])
        try #require((early + late).allSatisfy { $0["event"] == "action" }, comment)
        let gap = place.flatMap { events[$0]["revision"]?.int }
        let lacking = types.map { model.knownSince($0) }.max()!
        gaps += gap == nil ? 0 : 1
        #expect(gap == nil ? !isExact || lacking <= since : gap == lacking && lacking > since, comment)
        // Behind the gap nothing is missing, and before it nothing that is known.
        #expect(actions(late) == model.actions(of: types, after: max(since, gap ?? 0)), comment)
        #expect(early.allSatisfy { $0["revision"]!.int! <= gap! }, comment)
        let revisions = events.map { $0["revision"]!.int! }
        #expect(revisions == revisions.sorted(), comment)
        let (told, all) = (actions(early + late), Set(model.actions(of: types, after: since)))
        let known = model.actions(of: types, after: since, known: true)
        #expect(
            isExact ? told == known : all.isSuperset(of: told) && Set(told).isSuperset(of: known), comment)
    }

    @discardableResult
    private func answer(_ bus: LoggedBus, _ line: String) throws -> JSON {
        try #require(try ask(bus, line).last { $0["ok"] != nil }, "seed \(seed): \(line)")
    }

    /// Sends a line, and gives all that comes: questions to the log are answered, and what commits is on the disk.
    private func ask(_ bus: LoggedBus, _ line: String) throws -> [JSON] {
        bus.send(line)
        var lines: [JSON] = []
        var isMore = true
        while isMore {
            bus.engine.serveAll()
            try bus.write()
            isMore = false
            for case .query(let query) in bus.engine.takeOutputs() {
                let past = LogPast(try LogReader(path: "log", vfs: disk.name))
                let answers = PastAnswers(
                    past, Replayer(knowing: [], hashSeed: 1), longestLine: bus.engine.limits.daemon.line)
                bus.engine.answer(query, with: answers.answer(query))
                isMore = true
            }
            lines += try bus.heard()
        }
        return lines
    }
}
