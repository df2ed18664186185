import BusEngine
import BusHistory
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What the log keeps of a type: of `beat` nothing, of `counter` everything.
@Suite(.inBothModes)
struct LogPolicyTests {
    static let beat = beat(keeping: "none")

    static func beat(keeping policy: String) -> String {
        """
        type: beat
        log: { keep: \(policy) }
        initial: { count: 0 }
        actions:
          increment: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } }
          later: { timers: { soon: { in: 5s, action: increment } } }
        """
    }

    static func bus(
        _ stores: [String] = ["beat/a", "counter/a"], change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.stores = stores
        setup.definitions = [beat]
        setup.log = MemoryLog()
        change(&setup)
        return try MemoryBus(setup)
    }

    private func bus(_ stores: [String] = ["beat/a", "counter/a"]) throws -> MemoryBus {
        try Self.bus(stores)
    }

    private static let alone: InModes = .aloneOnly(
        because: "The local copy of a shared bus keeps all of each type, as its log does.")

    /// What a client is told does not depend on what the log keeps.
    @Test func clientsSeeOneOrder() throws {
        let bus = try bus()
        let client = bus.connect()
        let first = try client.increment("counter/a")
        #expect(try client.increment("beat/a") == first + 1)
        let reply = try client.reply(to: #"{"op":"dispatch","type":"*","action":"increment"}"#)
        #expect(reply["revision"]?.int == first + 2)
        #expect(reply["matched"] == 2)
        #expect(try client.increment("beat/a") == first + 3)
        #expect(try client.state(of: "beat/a") == ["count": 3])
        #expect(try client.state(of: "counter/a")?["count"] == 2)
        #expect(
            try client.reply(to: #"{"op":"types","type":"beat"}"#)["types"]?[0]?["log"] == ["keep": "none"])
    }

    /// On a shared bus all of it is there; on one machine nobody guesses.
    @Test(arguments: ["none", "latest"]) func questionsAboutAPastThatIsNotKeptSaySo(policy: String) throws {
        let bus = try Self.bus { $0.definitions = [Self.beat(keeping: policy)] }
        let client = bus.connect(uid: 0)
        let past = try client.increment("counter/a")
        try client.increment("beat/a")
        try client.increment("counter/a")
        let lines = [
            #"{"op":"get","store":"beat/a","revision":\#(past)}"#,
            #"{"op":"get","type":"beat","revision":\#(past)}"#,
            #"{"op":"history","store":"beat/a"}"#, #"{"op":"history","type":"beat"}"#,
            #"{"op":"blame","store":"beat/a"}"#, #"{"op":"samples","store":"beat/a","path":"/count"}"#,
            #"{"op":"revert","store":"beat/a","revision":\#(past)}"#,
        ]
        for line in lines {
            let error = try client.reply(to: line)["error"]
            if BusMode.current == .shared {
                #expect(error == nil, "\(line)")
            } else {
                #expect(error?["code"] == "gone", "\(line) \(String(describing: error))")
                #expect(error?["type"] == "beat")
                #expect(error?["keep"]?.string == policy)
            }
        }
        // What is kept is told all the same, and what is not is named.
        let all = try client.reply(to: #"{"op":"get","match":"*/a","revision":\#(past)}"#)
        #expect(all["states"]?["counter/a"]?["count"] == 1)
        #expect(all["gone"] == (BusMode.current == .shared ? nil : ["beat": .string(policy)]))
        let shown = try client.reply(to: #"{"op":"get","store":"counter/a","revision":\#(past + 1)}"#)
        #expect(shown["revision"]?.int == past + 1)
        #expect(shown["states"]?["counter/a"]?["count"] == 1)
    }

    @Test(alone) func commitsOfWhatIsNotKeptWriteNothingAndWaitForNoDisk() throws {
        let bus = try bus()
        let client = bus.connect()
        try client.increment("beat/a")
        let (groups, revision) = (bus.written!.groups.count, bus.engine.revision)
        bus.disk = .isBusy
        for _ in 0..<100 { try client.increment("beat/a") }
        for line in [
            #"{"op":"create","store":"beat/b"}"#, #"{"op":"dispatch","type":"beat","action":"increment"}"#,
            #"{"op":"dispatch","store":"beat/b","action":"increment","key":"k"}"#,
            #"{"op":"dispatch","actions":[{"op":"create","store":"beat/c"},{"store":"beat/c","action":"increment"}]}"#,
            #"{"op":"dispatch","store":"beat/b","action":"later"}"#, #"{"op":"drop","store":"beat/c"}"#,
            #"{"op":"create","store":"beat/mine","ephemeral":true}"#,
        ] {
            #expect(try client.reply(to: line)["ok"] == true, "\(line)")
        }
        bus.advance(milliseconds: 6000)
        #expect(try client.state(of: "beat/b")?["count"] == 3)
        client.close()
        #expect(bus.engine.state(at: "beat/mine") == nil)
        #expect(bus.engine.revision > revision + 100)
        let passing = bus.connect()
        try passing.reply(to: #"{"op":"create","store":"beat/e","ephemeral":true}"#)
        try passing.reply(to: #"{"op":"drop","store":"beat/e"}"#)
        passing.close()
        bus.disk = .works
        #expect(bus.written!.groups.count == groups)
        bus.disk = .isBusy
        // Behind a commit that is kept, they wait for it as everything does.
        let other = bus.connect()
        other.send(Line.increment)
        other.send(#"{"op":"dispatch","store":"beat/a","action":"increment"}"#)
        #expect(try other.all().isEmpty)
        #expect(bus.engine.durableRevision == bus.engine.revision - 2)
        bus.disk = .works
        #expect(try other.all().count == 2)
        #expect(bus.engine.durableRevision == bus.engine.revision)
    }

    @Test(alone) func startBeginsWhatIsNotKeptAnewAndUsesNoRevisionTwice() throws {
        let bus = try bus()
        let client = bus.connect()
        try client.increment("counter/a")
        try client.reply(to: #"{"op":"create","store":"beat/b"}"#)
        for _ in 0..<10 { try client.increment("beat/a") }
        try client.increment("counter/a")
        // As the daemon leaves one when it stops.
        bus.written!.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let last = try client.increment("beat/b")
        let next = try bus.crash { $0.stores = ["beat/a", "counter/a"] }
        let after = next.connect()
        #expect(try after.reply(to: #"{"op":"hello"}"#)["epoch"] == .string(bus.epoch))
        #expect(next.engine.revision > last)
        #expect(try after.state(of: "counter/a")?["count"] == 2)
        #expect(try after.state(of: "beat/a") == ["count": 0])
        #expect(try after.code(of: #"{"op":"get","store":"beat/b"}"#) == "unknown_store")
        #expect(try after.increment("beat/a") > last)
        // So after another, though nothing that is kept was committed.
        let seen = try after.increment("beat/a")
        #expect(try bus.crash().engine.revision > last)
        #expect(try next.crash().engine.revision > seen)
    }

    /// Kept stores resume from a revision that only unkept commits had; the others begin anew.
    @Test(alone) func resumptionIsExactOrAReset() throws {
        let bus = try bus()
        let client = bus.connect()
        try client.increment("counter/a")
        let seen = try client.increment("beat/a")
        let next = try bus.crash { $0.stores = ["beat/a"] }
        let other = next.connect()
        func first(_ what: String) throws -> JSON? {
            try other.ask(#"{"op":"subscribe",\#(what),"since":\#(seen),"epoch":"\#(bus.epoch)"}"#).last
        }
        try next.connect().increment("counter/a")
        let kept = try first(#""type":"counter""#)
        #expect(kept?["from"]?.int == seen)
        #expect(kept?["reset"] == nil)
        #expect(kept?["states"]?["counter/a"]?["count"] == 2)
        for what in [#""type":"beat""#, #""match":"*/*""#, #""store":"beat/a""#] {
            let unkept = try first(what)
            #expect(unkept?["reset"] == true, "\(what)")
            #expect(unkept?["states"]?["beat/a"] == ["count": 0])
        }
        // In the same run they resume exactly.
        let now = next.engine.revision
        try other.increment("beat/a")
        _ = try other.all()
        let same = try next.connect().ask(
            #"{"op":"subscribe","type":"beat","since":\#(now),"epoch":"\#(bus.epoch)"}"#
        ).last
        #expect(same?["from"]?.int == now)
        #expect(same?["reset"] == nil)
    }

    /// Actions that are not kept are told while they happen, and as missing afterwards.
    @Test(alone) func actionsThatAreNotKeptLeaveAGap() throws {
        let bus = try bus()
        let client = bus.connect()
        let start = try client.increment("counter/a")
        try client.increment("beat/a")
        try client.increment("counter/a")
        func told(_ type: String) throws -> [String] {
            let lines = try bus.connect().ask(
                #"{"op":"subscribe","type":"\#(type)","actions":true,"since":\#(start),"epoch":"\#(bus.epoch)"}"#
            )
            return lines.compactMap { $0["event"]?.string }
        }
        #expect(try told("counter") == ["action"])
        #expect(try told("beat") == ["gap"])
    }

    @Test(alone) func batchIsKeptForWhatIsKept() throws {
        let bus = try bus()
        let client = bus.connect(uid: 0)
        try client.increment("beat/a")
        let line =
            #"{"op":"dispatch","key":"k","actions":[{"store":"beat/a","action":"increment"},{"op":"create","store":"beat/b"},{"store":"counter/a","action":"increment"},{"op":"create","store":"counter/b"},{"store":"beat/b","action":"increment"},{"store":"counter/b","action":"increment"},{"op":"drop","store":"beat/a"}]}"#
        let reply = try client.reply(to: line)
        #expect(reply["ok"] == true, "\(reply)")
        let entry = bus.written!.lines.last!
        #expect(!entry.contains("beat"), "\(entry)")
        #expect(try bus.isWhatTheLogSays())
        let all = #"{"op":"dispatch","key":"all","type":"*","action":"increment"}"#
        let wide = try client.reply(to: all)
        #expect(wide["matched"] == 3)
        let next = try bus.crash()
        #expect(next.engine.state(at: "counter/a")?["count"] == 2)
        #expect(next.engine.state(at: "counter/b")?["count"] == 2)
        // The first answer is given again, also about what is not there any more.
        for (line, reply) in [(line, reply), (all, wide)] {
            let again = try next.connect(uid: 0).reply(to: line)
            #expect(again["duplicate"] == true)
            for name in ["revision", "matched", "changed"] { #expect(again[name] == reply[name], "\(line)") }
        }
    }

    @Test(alone) func restartHandsOverWhatIsNotKept() throws {
        let bus = try bus()
        let client = bus.connect()
        try client.increment("counter/a")
        let mirror = bus.connect()
        _ = try mirror.ask(#"{"op":"subscribe","type":"beat"}"#)
        let last = try client.increment("beat/a", by: 5)
        _ = try mirror.all()
        try bus.restart()
        #expect(try client.increment("beat/a") == last + 1)
        #expect(try client.state(of: "beat/a") == ["count": 6])
        #expect(
            try mirror.all() == [
                [
                    "event": "change", "sub": 1, "from": .int(last), "revision": .int(last + 1),
                    "changes": ["beat/a": ["count": 6]],
                ]
            ])
        #expect(try bus.isWhatTheLogSays())
    }

    /// The bus goes back to what is on disk, and what is on none begins anew.
    @Test(alone) func failedWriteBeginsWhatIsNotKeptAnew() throws {
        let bus = try bus()
        let client = bus.connect()
        let mirror = bus.connect()
        _ = try mirror.ask(#"{"op":"subscribe","type":"beat"}"#)
        try client.increment("beat/a", by: 5)
        _ = try mirror.all()
        bus.disk = .isBusy
        client.send(Line.increment(id: 1))
        bus.disk = .fails
        bus.disk = .works
        #expect(try client.codes() == ["unavailable"])
        #expect(try mirror.all().contains { $0["reset"] == true })
        let seen = try client.increment("beat/a", by: 5)
        bus.disk = .isBusy
        client.send(Line.increment(id: 1))
        client.send(#"{"op":"dispatch","id":2,"store":"beat/a","action":"increment"}"#)
        bus.disk = .fails
        #expect(try client.all().map { $0["error"]?["code"] } == ["unavailable", "unavailable"])
        bus.disk = .works
        let events = try mirror.all()
        #expect(events.contains { $0["reset"] == true })
        #expect(events.last?["states"]?["beat/a"] == ["count": 0])
        #expect(try client.state(of: "counter/a")?["count"] == 0)
        #expect(try client.increment("counter/a") > seen)
        #expect(try client.increment("beat/a") > seen)
        // What was told before is of no use to a resumption.
        let resumed = try bus.connect().ask(
            #"{"op":"subscribe","type":"beat","since":\#(seen),"epoch":"\#(bus.epoch)"}"#
        ).last
        #expect(resumed?["reset"] == true)
        #expect(try bus.isWhatTheLogSays())
    }

    /// What it is since a reload that there is a past is told, whatever the type said before.
    @Test(alone, arguments: ["none", "latest"]) func aPastThatBeganWithAReloadSaysWhen(policy: String) throws
    {
        let bus = try Self.bus { $0.definitions = [Self.beat(keeping: policy)] }
        let client = bus.connect(uid: 0)
        let early = try client.increment("beat/a")
        try client.increment("counter/a")
        bus.definitions = [Self.beat(keeping: "all")]
        let since = try client.revision(after: #"{"op":"reload"}"#)
        let last = try client.increment("beat/a")
        for line in [
            #"{"op":"get","store":"beat/a","revision":\#(early)}"#,
            #"{"op":"get","type":"beat","revision":\#(early)}"#,
            #"{"op":"history","type":"beat","since":\#(early)}"#,
            #"{"op":"history","store":"beat/a","since":0,"order":"newest"}"#,
            #"{"op":"blame","store":"beat/a","revision":\#(early)}"#,
            #"{"op":"samples","store":"beat/a","path":"/count","since":\#(early)}"#,
            #"{"op":"samples","store":"beat/a","path":"/count","until":\#(early)}"#,
            #"{"op":"revert","store":"beat/a","revision":\#(early)}"#,
        ] {
            let error = try client.reply(to: line)["error"]
            #expect(
                error?["code"] == "gone" && error?["type"] == "beat", "\(line) \(String(describing: error))")
            #expect(
                error?["keep"] == "all" && error?["oldest"]?.int == since,
                "\(line) \(String(describing: error))")
        }
        let all = try client.reply(to: #"{"op":"get","match":"*/a","revision":\#(early)}"#)
        #expect(all["gone"] == ["beat": "all"])
        let history = try client.reply(to: #"{"op":"history","type":"beat","since":\#(since)}"#)
        #expect(history["oldest"]?.int == since)
        #expect(history["commits"]?.array?.map { $0["revision"]?.int } == [last])
    }

    /// What a type's definition says holds for its whole past, though the log still has it.
    @Test(alone, arguments: ["none", "latest"]) func aPastThatEndedWithAReloadIsGone(policy: String) throws {
        let bus = try Self.bus { $0.definitions = [Self.beat(keeping: "all")] }
        let client = bus.connect(uid: 0)
        let early = try client.increment("beat/a")
        try client.increment("beat/a")
        let get = #"{"op":"get","store":"beat/a","revision":\#(early)}"#
        #expect(try client.reply(to: get)["states"]?["beat/a"] == ["count": 1])
        bus.definitions = [Self.beat(keeping: policy)]
        try client.reply(to: #"{"op":"reload"}"#)
        for line in [
            get, #"{"op":"get","type":"beat","revision":\#(early)}"#,
            #"{"op":"revert","store":"beat/a","revision":\#(early)}"#,
            #"{"op":"history","type":"beat"}"#, #"{"op":"blame","store":"beat/a","revision":\#(early)}"#,
        ] {
            let error = try client.reply(to: line)["error"]
            #expect(error?["code"] == "gone" && error?["keep"]?.string == policy, "\(line) \(error ?? .null)")
        }
        let all = try client.reply(to: #"{"op":"get","match":"*/a","revision":\#(early)}"#)
        #expect(all["gone"] == ["beat": .string(policy)] && all["states"]?["beat/a"] == nil)
        #expect(all["states"]?["counter/a"] != nil)
        #expect(try client.state(of: "beat/a") == ["count": 2])
    }

    /// All, none, all: what is kept is exact from each reload on, whatever comes between.
    @Test(alone, arguments: [[], [0], [1], [2], [0, 1, 2]])
    func policyHoldsFromTheReloadOn(crashes: [Int]) throws {
        var bus = try Self.bus { $0.definitions = [Self.beat(keeping: "all")] }
        func crash(_ place: Int) throws {
            guard crashes.contains(place) else { return }
            bus = try bus.crash { $0.stores = ["beat/a", "counter/a"] }
        }
        func reload(_ policy: String) throws -> Int {
            bus.definitions = [Self.beat(keeping: policy)]
            return try bus.connect(uid: 0).revision(after: #"{"op":"reload"}"#)
        }
        try bus.connect().increment("beat/a", by: 3)
        let kept = bus.engine.revision
        try bus.connect().reply(to: #"{"op":"create","store":"beat/t","ttl":60}"#)
        try bus.connect().reply(to: #"{"op":"dispatch","store":"beat/a","action":"later"}"#)
        // It is due at the same time, and set later.
        try bus.connect().reply(to: #"{"op":"dispatch","store":"counter/a","action":"increment","in":5}"#)
        _ = try reload("none")
        #expect(bus.engine.state(at: "beat/a")?["count"] == 3)
        try bus.connect().increment("beat/a")
        try crash(0)
        let began = bus.engine.state(at: "beat/a")!["count"]!.int!
        #expect(began == (crashes.contains(0) ? 0 : 4))
        try bus.connect().increment("beat/a")
        try bus.connect().increment("counter/a")
        let again = try reload("all")
        #expect(bus.engine.state(at: "beat/a")?["count"]?.int == began + 1)
        #expect(try bus.isWhatTheLogSays())
        try crash(1)
        #expect(bus.engine.state(at: "beat/a")?["count"]?.int == began + 1)
        #expect((bus.engine.state(at: "beat/t") != nil) == !crashes.contains(0))
        try bus.connect().increment("beat/a")
        bus.advance(milliseconds: 61_000)
        #expect(bus.engine.state(at: "beat/t") == nil)
        let count = bus.engine.state(at: "beat/a")!["count"]!.int!
        #expect(count == began + 2 + (crashes.contains(0) ? 0 : 1), "The timer came along.")
        try crash(2)
        #expect(bus.engine.state(at: "beat/a")?["count"]?.int == count)
        let client = bus.connect(uid: 0)
        #expect(
            try client.reply(to: #"{"op":"get","store":"beat/a","revision":\#(kept)}"#)["states"]?["beat/a"]
                == ["count": 3])
        #expect(try client.code(of: #"{"op":"get","store":"beat/a","revision":\#(again - 1)}"#) == "gone")
        #expect(
            try client.reply(to: #"{"op":"get","store":"beat/a","revision":\#(again)}"#)["states"]?["beat/a"]
                == ["count": .int(began + 1)])
        let blame = try client.reply(to: #"{"op":"blame","store":"beat/a","revision":\#(again)}"#)
        #expect(blame["oldest"]?.int == again)
        #expect(blame["values"]?[0]?["commit"] == nil, "Who made it so is not known: \(blame)")
        #expect(try bus.isWhatTheLogSays())
        #expect(try Verification.verify(bus.written!, try bus.replay(), found: { _ in }))
    }
}
