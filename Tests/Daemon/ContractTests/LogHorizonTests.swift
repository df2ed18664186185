import BusEngine
import BusHistory
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// How far back the past of a type reaches: of `beat` there is none, of `gauge` some, of `counter` all; and the log is thinned.
@Suite(.inBothModes)
struct LogHorizonTests {
    private static let alone: InModes = .aloneOnly(
        because: "The local copy of a shared bus keeps all of each type, as its log does.")

    private static func type(_ name: String, _ log: String) -> String {
        """
        type: \(name)
        log: { \(log) }
        initial: { count: 0 }
        actions:
          increment: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } }
          later: { timers: { soon: { in: 5s, action: increment } } }
        """
    }

    private static func bus(_ beat: String = "keep: latest", _ gauge: String = "for: 30d") throws -> MemoryBus
    {
        var setup = MemoryBus.Setup()
        setup.stores = ["beat/a", "gauge/a", "counter/a"]
        setup.definitions = [type("beat", beat), type("gauge", gauge)]
        setup.log = MemoryLog()
        return try MemoryBus(setup)
    }

    /// Random requests of a few kinds: the same seed gives the same ones.
    private static func requests(_ seed: UInt64, _ count: Int, _ types: [String]) -> [String] {
        var random = SeededGenerator(seed: seed)
        func store() -> String {
            "\(types.randomElement(using: &random)!)/\(["a", "b", "c"].randomElement(using: &random)!)"
        }
        func action() -> String {
            random.oneIn(4)
                ? #"{"type":"\#(types.randomElement(using: &random)!)","action":"increment"}"#
                : #"{"store":"\#(store())","action":"increment","payload":{"by":\#(Int.random(in: 1...9, using: &random))}}"#
        }
        return (0..<count).map { number in
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<4: return #"{"op":"dispatch","actions":[\#(action())]}"#
            case 4..<9:
                let steps = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                    random.oneIn(2)
                        ? action()
                        : #"{"op":"\#(random.oneIn(3) ? "drop" : "create")","store":"\#(store())"}"#
                }
                let key = random.oneIn(3) ? #","key":"k\#(number)""# : ""
                return #"{"op":"dispatch","actions":[\#(steps.joined(separator: ","))]\#(key)}"#
            case 9: return #"{"op":"create","store":"\#(store())","ttl":"30s"}"#
            case 10: return #"{"op":"create","store":"\#(store())","ephemeral":true}"#
            case 11: return #"{"op":"drop","store":"\#(store())"}"#
            case 12: return #"{"op":"dispatch","type":"*","action":"increment"}"#
            case 13: return #"{"op":"dispatch","store":"\#(store())","action":"later"}"#
            case 14: return #"{"op":"revert","store":"\#(store())","revision":\#(max(1, number / 2))}"#
            default: return #"{"op":"dispatch","type":"*","action":"increment","key":"all\#(number)"}"#
            }
        }
    }

    /// Sends them from clients that come and go.
    private static func send(_ lines: [String], to bus: MemoryBus, _ each: () throws -> Void = {}) throws {
        var client = bus.connect(uid: 0)
        for (index, line) in lines.enumerated() {
            _ = try client.reply(to: line)
            if index % 11 == 10 {
                client.close()
                bus.advance(milliseconds: 4000)
                client = bus.connect(uid: 0)
            }
            try each()
        }
    }

    private static func snapshot(_ bus: MemoryBus) throws {
        bus.written!.takeSnapshot(try bus.past(at: bus.engine.durableRevision))
    }

    // MARK: - What is left

    /// The same code need not do both, but the outcome is the same: what is left of a commit is what is written of it where the log
    /// keeps nothing of the type.
    @Test(alone, arguments: 0..<20) func whatIsLeftIsWhatIsWrittenWhereNothingIsKept(seed: UInt64) throws {
        let lines = Self.requests(seed, 120, ["beat", "counter"]).filter { !$0.contains("revert") }
        let (none, latest) = (try Self.bus("keep: none"), try Self.bus("keep: latest"))
        try Self.send(lines, to: none)
        try Self.send(lines, to: latest)
        #expect(none.engine.revision == latest.engine.revision)
        #expect(none.written!.lines.count < latest.written!.lines.count)
        latest.written!.thin(["beat": latest.engine.revision])
        // A session that leaves nothing behind ends without an entry where nothing is kept of its stores.
        func told(_ bus: MemoryBus) throws -> [String] {
            try bus.written!.lines.compactMap { line in
                let entry = try JSON(parsing: line).object!
                guard entry["revision"] != nil, entry.count > 4 || entry["actions"] != [] else { return nil }
                if entry["ended"] != nil, entry.count == 5, entry["actions"] == [] { return nil }
                guard entry["key"] != nil else { return line }
                // The reach of a key is that of the whole commit, which is not told.
                var rest = entry
                (rest["matched"], rest["changed"]) = (nil, nil)
                return JSON.object(rest).encoded
            }
        }
        #expect(try told(none) == told(latest))
        #expect(!latest.written!.lines.contains { $0.contains("beat/") })
    }

    // MARK: - Latest

    @Test func storesOfLatestAreThereAfterACrash() throws {
        let bus = try Self.bus()
        let client = bus.connect()
        for _ in 0..<3 { try client.increment("beat/a") }
        try client.reply(to: #"{"op":"create","store":"beat/b"}"#)
        if BusMode.current == .shared { return #expect(bus.engine.state(at: "beat/a")?["count"] == 3) }
        // It waits for the disk as everything does.
        bus.disk = .isBusy
        client.send(#"{"op":"dispatch","store":"beat/a","action":"increment"}"#)
        #expect(try client.all().isEmpty)
        bus.disk = .works
        let seen = try #require(try client.all().first?["revision"]?.int)
        let next = try bus.crash()
        #expect(next.engine.state(at: "beat/a") == ["count": 4])
        #expect(next.engine.state(at: "beat/b") == ["count": 0])
        #expect(next.engine.revision == seen)
        // A mirror goes on, and so do actions while the log has them.
        try next.connect().increment("beat/a")
        func first(_ what: String) throws -> [JSON] {
            try next.connect().ask(
                #"{"op":"subscribe","type":"beat",\#(what)"since":\#(seen),"epoch":"\#(bus.epoch)"}"#)
        }
        #expect(try first("").last?["from"]?.int == seen)
        #expect(try first("").last?["reset"] == nil)
        #expect(try first(#""actions":true,"#).map { $0["event"] } == [nil, "action"])
        #expect(
            try client.reply(to: #"{"op":"types","type":"beat"}"#)["types"]?[0]?["log"] == ["keep": "latest"])
    }

    /// From one policy to another and back: the stores stay, but for what the log forgets of `none` in a crash.
    @Test(alone, arguments: ["none", "latest", "all"], ["none", "latest", "all"])
    func policyHoldsFromTheReloadOn(first: String, second: String) throws {
        var bus = try Self.bus("keep: \(first)")
        func reload(_ policy: String) throws {
            bus.definitions = [Self.type("beat", "keep: \(policy)"), Self.type("gauge", "for: 30d")]
            _ = try bus.connect(uid: 0).reply(to: #"{"op":"reload"}"#)
        }
        for _ in 0..<3 { try bus.connect().increment("beat/a") }
        let before = bus.engine.revision
        try reload(second)
        #expect(bus.engine.state(at: "beat/a") == ["count": 3])
        #expect(try bus.isWhatTheLogSays())
        try bus.connect().increment("beat/a")
        bus = try bus.crash { $0.stores = ["beat/a"] }
        #expect(bus.engine.state(at: "beat/a") == (second == "none" ? ["count": 0] : ["count": 4]))
        try Self.snapshot(bus)
        bus.written!.thin(second == "all" ? [:] : ["beat": bus.engine.durableRevision])
        try reload("all")
        let since = bus.engine.revision
        try bus.connect().increment("beat/a")
        let client = bus.connect(uid: 0)
        func state(_ revision: Int) throws -> JSON? {
            let reply = try client.reply(to: #"{"op":"get","store":"beat/a","revision":\#(revision)}"#)
            return reply["states"]?["beat/a"] ?? reply["error"]?["code"]
        }
        #expect(try state(before) == (first == "all" && second == "all" ? ["count": 3] : "gone"))
        #expect(try state(since) == (second == "none" ? ["count": 0] : ["count": 4]))
        let blame = try client.reply(to: #"{"op":"blame","store":"beat/a","path":"/count"}"#)
        #expect(blame["values"]?[0]?["commit"]?["revision"]?.int == since + 1)
        if second != "all" {
            let oldest = try #require(blame["oldest"]?.int)
            #expect(oldest > before && oldest <= since, "\(blame)")
        }
        #expect(try Verification.verify(bus.written!, try bus.replay(), found: { _ in }))
        #expect(try bus.isWhatTheLogSays())
    }

    // MARK: - A thinned log

    /// A bus that was used for a while, with snapshots, and what its stores were after each commit.
    private struct Used {
        let bus: MemoryBus
        var states: [Int: JSONObject] = [:]
        var snapshots: [Int] = [0]

        init(seed: UInt64) throws {
            bus = try LogHorizonTests.bus()
            let requests = LogHorizonTests.requests(seed, 150, ["beat", "gauge", "counter"])
            var (states, snapshots, count) = ([Int: JSONObject](), [Int](), 0)
            let bus = bus
            // No request drops these.
            for store in ["counter/z", "gauge/z"] {
                try bus.connect().reply(to: #"{"op":"create","store":"\#(store)"}"#)
            }
            try LogHorizonTests.send(requests, to: bus) {
                count += 1
                var all = JSONObject()
                for type in ["beat", "gauge", "counter"] {
                    for name in ["a", "b", "c", "z"] {
                        all["\(type)/\(name)"] = bus.engine.state(at: "\(type)/\(name)").map(JSON.object)
                    }
                }
                states[bus.engine.revision] = all
                if count % 25 == 0 {
                    try LogHorizonTests.snapshot(bus)
                    snapshots.append(bus.engine.durableRevision)
                }
            }
            (self.states, self.snapshots) = (states, snapshots)
        }

        func answer(_ line: String) throws -> JSON { try bus.connect(uid: 0).reply(to: line) }

        /// What questions about what is kept whole are answered.
        func answersAboutCounters() throws -> [JSON] {
            try [
                #"{"op":"history","type":"counter"}"#, #"{"op":"history","type":"counter","order":"newest"}"#,
                #"{"op":"history","store":"counter/a","action":"increment","order":"newest","limit":7}"#,
                #"{"op":"blame","store":"counter/a"}"#,
                #"{"op":"blame","store":"counter/a","revision":\#(snapshots[2])}"#,
                #"{"op":"samples","store":"counter/a","path":"/count"}"#,
                #"{"op":"samples","store":"counter/b","path":"/count","most":9}"#,
            ].map { try answer($0) }
        }
    }

    /// However far the thinning has come, answers are the same: right, or that it is gone.
    @Test(alone, arguments: Seeds.some(6 as UInt64), [0, 20, 60, Int.max])
    func questionsAreAnsweredRightOrAsGone(seed: UInt64, groups: Int) throws {
        let used = try Used(seed: seed)
        let (bus, snapshots) = (used.bus, used.snapshots)
        let whole = try used.answersAboutCounters()
        let (beats, gauges) = (snapshots[4], snapshots[2])
        let since = #"{"op":"history","type":"gauge","since":\#(gauges)}"#
        let gaugesSince = try used.answer(since)["commits"]
        bus.written!.thin(["beat": beats, "gauge": gauges], groups: groups)
        #expect(try Verification.verify(bus.written!, try bus.replay(), found: { _ in }))
        // What is told of commits that concern others, too, is what is left of them.
        for (line, before) in zip(try used.answersAboutCounters(), whole) {
            #expect(Self.counters(line) == Self.counters(before))
        }
        // The newest is the present, which has everything.
        for (revision, states) in used.states.sorted(by: { $0.key < $1.key }).dropLast() {
            let all = try used.answer(#"{"op":"get","match":"*/*","revision":\#(revision)}"#)
            var expected = states
            for member in states.members
            where member.key.hasPrefix("beat") || revision < gauges && member.key.hasPrefix("gauge") {
                expected[member.key] = nil
            }
            #expect(all["states"]?.object == expected, "\(revision)")
            #expect(
                all["gone"] == (revision < gauges ? ["beat": "latest", "gauge": "all"] : ["beat": "latest"]))
        }
        let gone = try used.answer(#"{"op":"get","type":"gauge","revision":\#(gauges - 1)}"#)["error"]
        #expect(gone?["code"] == "gone" && gone?["type"] == "gauge" && gone?["oldest"]?.int == gauges)
        for line in [
            #"{"op":"history","type":"gauge","since":\#(gauges - 1)}"#,
            #"{"op":"blame","store":"gauge/z","revision":\#(gauges - 1)}"#,
            #"{"op":"samples","store":"gauge/z","path":"/count","since":\#(gauges - 1)}"#,
            #"{"op":"revert","store":"gauge/z","revision":\#(gauges - 1)}"#,
            #"{"op":"history","store":"beat/a"}"#, #"{"op":"blame","store":"beat/a"}"#,
            #"{"op":"samples","store":"beat/a","path":"/count"}"#,
        ] {
            #expect(try used.answer(line)["error"]?["code"] == "gone", "\(line)")
        }
        let history = try used.answer(#"{"op":"history","type":"gauge"}"#)
        #expect(history["oldest"]?.int == gauges)
        #expect(history["commits"] == (try used.answer(since)["commits"]))
        #expect(Self.gauges(history["commits"]) == Self.gauges(gaugesSince))
        if bus.engine.state(at: "gauge/a") != nil {
            let blame = try used.answer(#"{"op":"blame","store":"gauge/a","path":"/count"}"#)
            #expect(blame["oldest"]?.int == gauges)
            #expect(blame["values"]?[0]?["value"] == bus.engine.state(at: "gauge/a")?["count"])
        }
    }

    private static func counters(_ answer: JSON) -> JSON { answer.only("counter") }
    private static func gauges(_ answer: JSON?) -> JSON? { answer?.only("gauge") }

    /// A type may wait for one that had no past before: what it did is repeated with what that was from then on.
    @Test(alone) func typesThatAreKnownAgainAreReadByOthers() throws {
        let bus = try Self.bus()
        let client = bus.connect(uid: 0)
        func reload(_ beat: String, _ lamp: String) throws {
            bus.definitions = [Self.type("beat", beat), "type: lamp\ninitial: { n: 0 }\n" + lamp]
            #expect(try client.reply(to: #"{"op":"reload"}"#)["ok"] == true)
        }
        try client.reply(to: #"{"op":"drop","store":"gauge/a"}"#)
        try reload("keep: latest", "actions: { follow: { increment: { n: 1 } } }")
        try client.reply(to: #"{"op":"create","store":"lamp/a"}"#)
        func follow() throws {
            try client.reply(to: #"{"op":"dispatch","store":"lamp/a","action":"follow"}"#)
        }
        for _ in 0..<3 { try follow() }
        for _ in 0..<5 { try client.increment("beat/a") }
        try Self.snapshot(bus)
        bus.written!.thin(["beat": bus.engine.durableRevision])
        // One walk through all of it.
        bus.written!.indexed = nil
        try reload(
            "keep: all", "waitFor: [beat]\nactions: { follow: { set: { n: \"= stores['beat/a'].count\" } } }")
        for _ in 0..<2 {
            try follow()
            try client.increment("beat/a")
        }
        #expect(bus.engine.state(at: "lamp/a") == ["n": 6])
        let samples = try client.reply(to: #"{"op":"samples","store":"lamp/a","path":"/n"}"#)
        #expect(
            samples["samples"]?.array?.compactMap { $0["value"]?.int } == [0, 1, 2, 3, 5, 6], "\(samples)")
        #expect(try Verification.verify(bus.written!, try bus.replay(), found: { _ in }))
        let machine = try bus.replay().restored(0, from: bus.written!)
        try bus.replay().advance(machine, to: bus.engine.durableRevision, from: bus.written!)
        #expect(machine.stateDigest == bus.engine.stateDigest)
    }

    /// A subscription to actions leaves out what is not known, and says so.
    @Test(alone) func actionsBeforeTheHorizonAreAGap() throws {
        let bus = try Self.bus()
        let client = bus.connect()
        for _ in 0..<5 { for type in ["gauge", "counter"] { try client.increment("\(type)/a") } }
        let start = try client.increment("counter/a")
        for _ in 0..<5 { for type in ["gauge", "counter"] { try client.increment("\(type)/a") } }
        try Self.snapshot(bus)
        let horizon = bus.engine.durableRevision
        for _ in 0..<5 { for type in ["gauge", "counter"] { try client.increment("\(type)/a") } }
        bus.written!.thin(["gauge": horizon])
        // What is in memory of the newest batches is not asked of the log.
        let next = try bus.crash()
        func told(_ type: String, since: Int) throws -> [JSON] {
            try next.connect().ask(
                #"{"op":"subscribe","type":"\#(type)","actions":true,"since":\#(since),"epoch":"\#(bus.epoch)"}"#
            ).filter { $0["event"] != nil }
        }
        let gauges = try told("gauge", since: start)
        #expect(gauges.first?["event"] == "gap")
        #expect(gauges.first?["revision"]?.int == horizon)
        #expect(gauges.dropFirst().map { $0["event"] } == Array(repeating: "action", count: 5))
        #expect(
            try told("counter", since: start).map { $0["event"] } == Array(repeating: "action", count: 10))
        #expect(try told("gauge", since: horizon).map { $0["event"] } == Array(repeating: "action", count: 5))
        // States are known all the same.
        let states = try next.connect().ask(
            #"{"op":"subscribe","type":"gauge","since":\#(start),"epoch":"\#(bus.epoch)"}"#
        ).last
        #expect(states?["from"]?.int == start)
        #expect(states?["states"]?["gauge/a"]?["count"] == 15)
    }

    /// Whoever reads while it is thinned reads again.
    @Test(alone, arguments: Seeds.some(12)) func whatIsThinnedMeanwhileIsReadAgain(moment: Int) throws {
        let when = moment + 1
        let used = try Used(seed: 3)
        let log = HastyLog(used.bus.written!, thinning: ["gauge": used.snapshots[4]], after: when)
        let revision = used.snapshots[4] + 3
        let machine = try used.bus.replay().machine(at: revision, from: log)
        let past = try Used(seed: 3).bus.past(at: revision)
        #expect(machine.stateDigest == past.stateDigest)
        let early = HastyLog(
            try Used(seed: 3).bus.written!, thinning: ["gauge": used.snapshots[4]], after: when)
        let old = try used.bus.replay().machine(at: used.snapshots[4] - 3, from: early)
        let known = try Used(seed: 3).bus.past(at: used.snapshots[4] - 3)
        #expect(old.stateDigest == known.stateDigest(leavingOut: Set(old.forgotten.keys)))
        #expect(early.hasThinned == !old.forgotten.isEmpty)
    }

    /// A snapshot that is not what the commits make is found also where they begin at a horizon.
    @Test(alone, arguments: [3, 4, 5]) func verificationFindsWrongSnapshotsOfThinnedTypes(which: Int) throws {
        let used = try Used(seed: 5)
        let log = used.bus.written!
        log.thin(["gauge": used.snapshots[3]])
        #expect(try Verification.verify(log, try used.bus.replay(), found: { _ in }))
        // The state of another revision, said to be of this one.
        let text = String(decoding: log.snapshotBytes[used.snapshots[which]]!, as: UTF8.self)
        let name = which == 3 ? "counter" : "gauge"
        let records = text.split(separator: "\n").dropLast().map(String.init)
        let changed = records.map { line in
            line.contains(#""kind":"store""#) && line.contains(#""type":"\#(name)""#)
                ? line.replacing(#""count":"#, with: #""count":7"#) : line
        }
        try #require(changed != records)
        let bytes = Array((changed.joined(separator: "\n") + "\n").utf8)
        log.snapshotBytes[used.snapshots[which]] = bytes.withUnsafeBytes {
            StateTransfer.sealed($0, records: changed.count)
        }
        var wrong: [Int] = []
        let isRight = try Verification.verify(
            log, try used.bus.replay(), found: { if $0.trouble != nil { wrong.append($0.revision) } })
        #expect(!isRight)
        #expect(wrong == [used.snapshots[which]])
    }
}
