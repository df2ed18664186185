import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Timers that repeat by themselves, and timers whose names are made of what an action sees.
@Suite(.inBothModes) struct RepeatingTimerTests {
    private static let clock = """
        type: clock
        initial: { ticks: 0, ready: true, gone: [] }
        actions:
          start: { timers: { tick: { every: 10s, action: tick } } }
          wind: { payload: { first: number, every: number }, timers: { tick: { in: = payload.first, every: = payload.every, action: tick } } }
          tick: { require: [{ if: state.ready, else: not ready }], increment: { ticks: 1 } }
          stop: { timers: { tick: null } }
          startOnce: { timers: { tick: { every: 10s, action: once } } }
          once: { increment: { ticks: 1 }, timers: { tick: null } }
          startSlower: { timers: { tick: { every: 10s, action: slower } } }
          slower: { increment: { ticks: 1 }, timers: { tick: { in: 60, action: tick } } }
          ready: { payload: { is: boolean }, set: { ready: = payload.is } }
          enter: { payload: { who: any }, timers: { "expire-{payload.who}": { in: 5s, action: leave, payload: { who: = payload.who } } } }
          leave: { payload: { who: any }, append: { gone: = payload.who }, timers: { "expire-{payload.who}": null } }
          mark: { timers: { "{string(state.ticks)}-{meta.revision}:{'}'.size()}": { in: 1m, action: stop } } }
        """

    private func make() throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.clock]
        setup.stores = ["clock/a", "clock/b"]
        setup.log = MemoryLog()
        return try MemoryBus(setup)
    }

    private static func action(_ name: String, _ payload: String = "{}") -> String {
        #"{"op":"dispatch","store":"clock/a","action":"\#(name)","payload":\#(payload)}"#
    }

    private func ticks(_ client: MemoryClient) throws -> Int? {
        try client.state(of: "clock/a")?["ticks"]?.int
    }

    @Test func repeatsUntilItIsTakenAway() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("start"))
        let timer = try client.reply(to: #"{"op":"timers"}"#)["timers"]?[0]
        #expect(timer?["every"] == 10 && timer?["timer"] == "tick")
        bus.advance(milliseconds: 9_999)
        #expect(try ticks(client) == 0)
        for count in 1...3 {
            bus.advance(milliseconds: 1)
            #expect(try ticks(client) == count)
            bus.advance(milliseconds: 9_999)
            #expect(try ticks(client) == count)
        }
        try client.revision(after: Self.action("stop"))
        bus.advance(milliseconds: 100_000)
        #expect(try ticks(client) == 3)
        #expect(try client.timers() == [])
    }

    @Test func firstTimeMayBeAnother() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("wind", #"{"first":3,"every":1.5}"#))
        for (wait, count) in [(2_999, 0), (1, 1), (1_499, 1), (1, 2), (1_500, 3)] {
            bus.advance(milliseconds: wait)
            #expect(try ticks(client) == count)
        }
    }

    /// However many times have gone by, one is made up for, and the series goes on as it was.
    @Test(.aloneOnly(because: "The time of a member in memory does not leap."))
    func timesThatWentByAreMadeUpForByOne() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("start"))
        let before = bus.engine.revision
        bus.advance(milliseconds: 10_000_035_000)
        #expect(bus.engine.revision == before + 1)
        #expect(try ticks(client) == 1)
        bus.advance(milliseconds: 4_999)
        #expect(try ticks(client) == 1)
        bus.advance(milliseconds: 1)
        #expect(try ticks(client) == 2)
        #expect(try bus.isWhatTheLogSays())
    }

    /// A time at which the action is rejected ends nothing.
    @Test func rejectedTimeEndsNothing() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("start"))
        try client.revision(after: Self.action("ready", #"{"is":false}"#))
        bus.advance(milliseconds: 10_000)
        bus.advance(milliseconds: 10_000)
        #expect(try ticks(client) == 0)
        try client.revision(after: Self.action("ready", #"{"is":true}"#))
        bus.advance(milliseconds: 10_000)
        #expect(try ticks(client) == 1)
        let commits = try client.reply(to: #"{"op":"history"}"#)["commits"]?.array ?? []
        #expect(commits.compactMap { $0["fired"]?["every"] } == [10, 10, 10])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(arguments: ["startOnce", "startSlower"])
    func actionDecidesAboutItsOwnTimer(start: String) throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action(start))
        bus.advance(milliseconds: 10_000)
        #expect(try ticks(client) == 1)
        bus.advance(milliseconds: 59_999)
        #expect(try ticks(client) == 1)
        bus.advance(milliseconds: 10_000)
        #expect(try ticks(client) == (start == "startOnce" ? 1 : 2))
        #expect(try client.timers() == [])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func restartGoesOnWithTheSeries() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("start"))
        bus.advance(milliseconds: 10_000)
        // The successor begins at the time of the last commit.
        let successor = try bus.crash()
        #expect(successor.engine.stateDigest == bus.engine.stateDigest)
        let other = successor.connect()
        successor.advance(milliseconds: 9_999)
        #expect(try ticks(other) == 1)
        successor.advance(milliseconds: 1)
        #expect(try ticks(other) == 2)
    }

    @Test(arguments: [("3", "0.999"), ("3", "-1"), ("3", "4e9"), ("-1", "5")])
    func whatIsNoIntervalIsRejected(first: String, every: String) throws {
        let bus = try make()
        let client = bus.connect()
        #expect(
            try client.code(of: Self.action("wind", #"{"first":\#(first),"every":\#(every)}"#)) == "rejected")
        #expect(try client.timers() == [])
    }

    // MARK: Names

    @Test func eachNameIsATimerOfItsOwn() throws {
        let bus = try make()
        let client = bus.connect()
        for who in [#""ada""#, #""ben""#, "7"] {
            try client.revision(after: Self.action("enter", #"{"who":\#(who)}"#))
            bus.advance(milliseconds: 1000)
        }
        #expect(try client.timers() == ["clock/a expire-ada", "clock/a expire-ben", "clock/a expire-7"])
        try client.revision(after: Self.action("leave", #"{"who":"ben"}"#))
        #expect(try client.timers() == ["clock/a expire-ada", "clock/a expire-7"])
        // The same name is the same timer.
        try client.revision(after: Self.action("enter", #"{"who":"7"}"#))
        bus.advance(milliseconds: 2000)
        #expect(try client.timers() == ["clock/a expire-7"])
        bus.advance(milliseconds: 3000)
        #expect(try client.state(of: "clock/a")?["gone"] == ["ben", "ada", "7"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(arguments: [
        #""a b""#, "true", "null", "1.5", "[]", #""ä""#, "\"" + String(repeating: "x", count: 58) + "\"",
    ])
    func whatIsNoNameIsRejected(who: String) throws {
        let client = try make().connect()
        for action in ["enter", "leave"] {
            let reply = try client.reply(to: Self.action(action, #"{"who":\#(who)}"#))
            #expect(reply["error"]?["code"] == "rejected")
            #expect(
                reply["error"]?["message"]?.string?.contains("in the timer expire-{payload.who}, ") == true)
        }
        #expect(try client.state(of: "clock/a")?["gone"] == [])
    }

    @Test func nameMayConsistOfExpressions() throws {
        let bus = try make()
        let client = bus.connect()
        let revision = try client.revision(after: Self.action("mark"))
        #expect(try client.timers() == ["clock/a 0-\(revision):1"])
    }
}
