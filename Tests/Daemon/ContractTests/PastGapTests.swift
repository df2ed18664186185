import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// One gap tells a subscription to actions what may be missing, and no action that the log has is missing on account of it.
@Suite(.aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
struct PastGapTests {
    /// With `counter`, of which everything is kept, and `beat`.
    private func bus(
        keeping policy: String, change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        try LogPolicyTests.bus {
            $0.definitions = [LogPolicyTests.beat(keeping: policy)]
            change(&$0)
        }
    }

    /// Three actions on each of them, in turns, and the events of these.
    private func work(_ bus: MemoryBus) throws -> [String] {
        let client = bus.connect(uid: 0)
        return try (0..<3).flatMap { _ in
            try ["counter/a", "beat/a"].map { "\($0) \(try client.increment($0))" }
        }
    }

    private func only(_ type: String, _ events: [String]) -> [String] {
        events.filter { $0.hasPrefix(type + "/") }
    }

    private func snapshot(_ bus: MemoryBus) throws -> Int {
        bus.written!.takeSnapshot(try bus.past(at: bus.engine.durableRevision))
        return bus.engine.durableRevision
    }

    private func subscribe(_ bus: MemoryBus, _ match: String, since: Int) -> String {
        #"{"op":"subscribe","match":"\#(match)","actions":true,"since":\#(since),"epoch":"\#(bus.epoch)"}"#
    }

    private func events(_ lines: [JSON]) -> [String] {
        lines.compactMap { line in
            line["event"]?.string.map {
                "\($0 == "action" ? line["store"]?.string ?? "" : $0) \(line["revision"]?.int ?? 0)"
            }
        }
    }

    private func told(_ bus: MemoryBus, _ match: String, since: Int, uid: Int = 0) throws -> [String] {
        events(try bus.connect(uid: uid).ask(subscribe(bus, match, since: since)))
    }

    @Test(arguments: [false, true]) func keptActionsComeBeforeTheGapForOthers(crashes: Bool) throws {
        var bus = try bus(keeping: "none")
        let start = bus.engine.revision
        var done = try work(bus)
        // Revisions are skipped.
        if crashes { bus = try bus.crash { $0.stores = ["beat/a"] } }
        done += try work(bus)
        let client = bus.connect(uid: 0)
        let gap = ["gap \(bus.engine.revision)"]
        #expect(try events(client.ask(subscribe(bus, "*/*", since: start))) == only("counter", done) + gap)
        #expect(try told(bus, "beat/*", since: start) == gap)
        #expect(try told(bus, "counter/*", since: start) == only("counter", done))
        // From then on all of them come.
        let live = try work(bus)
        #expect(try events(client.all()) == live)
    }

    /// However far the thinning has come.
    @Test(arguments: [0, Int.max]) func theShorterPastOfATypeCostsOthersNothing(groups: Int) throws {
        let bus = try bus(keeping: "all")
        let start = bus.engine.revision
        let early = try work(bus)
        let horizon = try snapshot(bus)
        let late = try work(bus)
        bus.written!.thin(["beat": horizon], groups: groups)
        // What is in memory of the newest batches is not asked of the log.
        let next = try bus.crash()
        let left = groups == 0 ? early : only("counter", early)
        let gap = ["gap \(horizon)"]
        #expect(try told(next, "*/*", since: start) == left + gap + late)
        #expect(try told(next, "beat/*", since: start) == gap + only("beat", late))
        #expect(try told(next, "counter/*", since: start) == only("counter", early + late))
        #expect(try told(next, "*/*", since: horizon) == late)
    }

    @Test func severalReasonsAreOneGap() throws {
        let bus = try bus(keeping: "all")
        let start = bus.engine.revision
        _ = try work(bus)
        let trimmed = try snapshot(bus)
        let early = try work(bus)
        let horizon = try snapshot(bus)
        let late = try work(bus)
        bus.written!.forget(before: trimmed)
        bus.written!.thin(["beat": horizon])
        let next = try bus.crash()
        #expect(
            try told(next, "*/*", since: start) == only("counter", early) + ["gap \(horizon)"] + late)
        #expect(try told(next, "beat/*", since: start) == ["gap \(horizon)"] + only("beat", late))
        #expect(
            try told(next, "counter/*", since: start)
                == ["gap \(trimmed)"] + only("counter", early + late))
    }

    /// What a reload has made of a policy is no reason for two gaps either.
    @Test func aPastThatBeganWithAReloadIsOneGap() throws {
        let bus = try bus(keeping: "none")
        let start = bus.engine.revision
        let early = try work(bus)
        bus.definitions = [LogPolicyTests.beat(keeping: "all")]
        let since = try bus.connect(uid: 0).revision(after: #"{"op":"reload"}"#)
        let late = try work(bus)
        for bus in [bus, try bus.crash()] {
            #expect(
                try told(bus, "*/*", since: start) == only("counter", early) + ["gap \(since)"] + late)
            #expect(try told(bus, "beat/*", since: start) == ["gap \(since)"] + only("beat", late))
        }
    }

    /// Of `latest` the log has actions until it is thinned.
    @Test func ofLatestThereIsAGapOnlyWhereSomethingIsGone() throws {
        let bus = try bus(keeping: "latest")
        let start = bus.engine.revision
        let early = try work(bus)
        let horizon = try snapshot(bus)
        let late = try work(bus)
        for bus in [bus, try bus.crash()] {
            #expect(try told(bus, "*/*", since: start) == early + late)
        }
        bus.written!.thin(["beat": horizon])
        let next = try bus.crash()
        let gap = ["gap \(horizon)"]
        #expect(try told(next, "beat/*", since: start) == gap + only("beat", late))
        #expect(try told(next, "*/*", since: start) == only("counter", early) + gap + late)
    }

    /// What was told of a type that is gone since may be missing, too.
    @Test func aTypeThatWentLeavesAGap() throws {
        let bus = try bus(keeping: "all")
        let start = bus.engine.revision
        let early = try work(bus)
        let horizon = try snapshot(bus)
        try bus.connect(uid: 0).reply(to: #"{"op":"drop","store":"beat/a"}"#)
        bus.definitions = []
        #expect(try bus.connect(uid: 0).reply(to: #"{"op":"reload"}"#)["ok"] == true)
        bus.written!.thin(["beat": horizon])
        let next = try bus.crash()
        #expect(try told(next, "*/*", since: start) == only("counter", early) + ["gap \(horizon)"])
    }

    /// A type that a client does not see leaves it no gap.
    @Test func whatIsNotShownIsNotMissing() throws {
        let bus = try bus(keeping: "none") {
            $0.users = [0: ("root", []), 1: ("eve", [])]
            $0.access = """
                roles: { admin: [{ user: root }], guest: [{ user: eve }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: [read, history], match: counter/* }
                """
        }
        let start = bus.engine.revision
        let done = try work(bus)
        #expect(try told(bus, "*/*", since: start, uid: 1) == only("counter", done))
    }

    /// However slowly it is read, and whoever serves it.
    @Test(arguments: ["none", "all"]) func aSlowReaderIsToldOfOneGap(policy: String) throws {
        let bus = try bus(keeping: policy) { $0.limits.daemon.outbox = 4096 }
        let (start, client) = (bus.engine.revision, bus.connect(uid: 0))
        var done: [String] = []
        for _ in 0..<60 { done += try work(bus) }
        let horizon = policy == "all" ? try snapshot(bus) : 0
        bus.written!.thin(["beat": horizon])
        client.isReading = false
        client.send(subscribe(bus, "*/*", since: start))
        try bus.restart()
        let late = try work(bus)
        client.isReading = true
        let told = try events(client.all())
        let gap = told.firstIndex { $0.hasPrefix("gap") }
        let end = policy == "all" ? horizon : bus.engine.revision
        #expect(gap.map { told[$0] } == "gap \(end)")
        #expect(
            told.filter { !$0.hasPrefix("gap") } == only("counter", done)
                + (policy == "all" ? late : only("counter", late)))
        #expect(gap == (policy == "all" ? told.count - late.count - 1 : told.count - 1))
    }
}
