import BusJSON
import BusLogic
import BusSource
import BusYAML
import Testing

/// What is wrong with a timer, or with a `ttl`, is told when the definition is loaded, with its line.
@Suite struct TimerLoadTests {
    private static func load(_ timers: String, ttl: String = "") throws -> DeclaredType {
        let yaml = """
            type: light
            initial: { on: false, n: 1 }
            \(ttl)
            actions:
              on: { payload: { level: integer, why: { type: string, default: x } }, set: { n: { var: payload.level } } }
              off: { set: { on: false } }
              act:
                payload: { by: integer? }
                timers: { \(timers) }
            """
        return try DeclaredType(LocatedValue.read(yaml, file: "light.yaml"))
    }

    @Test(arguments: [
        ("t: { in: 5m, action: of }", "light has no action of; did you mean `on`?"),
        ("t: { action: off }", "needs either `in`"),
        ("t: { in: 1, at: 2, action: off }", "needs either `in`"),
        ("t: { in: soon, action: off }", "in must be a length of time"),
        ("t: { in: -1, action: off }", "in must be a length of time"),
        ("t: { in: true, action: off }", "in must be a length of time"),
        ("t: { in: 5m }", "A timer needs a member action"),
        ("t: { in: 5m, acton: off }", "unknown key `acton` in timer; did you mean `action`?"),
        ("t: 5m", "The timer t must be an object"),
        ("_t: null", "A timer can't be called _t"),
        ("t: { in: { var: payload.bye }, action: off }", "did you mean `by`?"),
        (
            "t: { in: 5m, action: on, payload: { levle: 1 } }",
            "on takes no payload.levle; did you mean `level`?"
        ),
        ("t: { in: 5m, action: on }", "on needs payload.level; add it to the payload of the timer."),
        ("t: { in: 5m, action: on, payload: 5 }", "payload must be an object"),
    ])
    func wrongTimerIsRefusedWithItsLine(_ timers: String, _ message: String) throws {
        let error = try #require(#expect(throws: SourceError.self) { try Self.load(timers) })
        #expect(error.message.contains(message), "\(error)")
        #expect(error.line == 9, "\(error)")
    }

    /// A single word is a length of time where it is the name of something.
    @Test func lengthMayBeAName() throws {
        let text = """
            type: t
            initial: { on: false, wait: 5m }
            let: { long: state.wait }
            timers: { own: { for: wait, while: on, action: act } }
            actions: { act: { timers: { a: { in: long, every: long, action: act }, b: { in: WORD, action: act } } } }
            """
        let found = try ["long", "wait", "lon"].map {
            try MarkedMistake.all(in: text.replacing("WORD", with: $0)).map(\.message)
        }
        #expect(found[0] == [])
        #expect(found[1...].allSatisfy { $0.count == 1 && $0[0].hasPrefix("in must be a length of time") })
    }

    @Test(arguments: [
        "t: null", "t: { in: 90, action: off }", "t: { in: 1.5, action: off }",
        "t: { at: { var: meta.time }, action: off }",
        "t: { in: { \"*\": [{ var: state.n }, 60] }, action: on, payload: { level: { var: payload.by } } }",
    ])
    func rightTimerIsTakenAlsoFromItsDefinition(_ timers: String) throws {
        let type = try Self.load(timers)
        let again = try DeclaredType(definition: type.definition)
        #expect(again.definition == type.definition)
    }

    /// Each timer costs of the budget what it takes to put it in its place among all others.
    @Test func timersArePaidFor() throws {
        func operations(_ timers: [String]) throws -> Int {
            let bench = StoreBench(try Self.load(timers.joined(separator: ", ")))
            try bench.dispatch("act", ["by": 1])
            return bench.spent.operations
        }
        let timers = [
            "a: { in: 1s, action: off }", "b: { in: 2s, action: off }", "c: { in: 3s, action: off }",
        ]
        let one = try operations(Array(timers.prefix(1)))
        #expect(one >= 20)
        #expect(try operations(timers) >= one + 40)
    }

    @Test(arguments: [("1h", 3_600_000), ("90", 90_000), ("10ms", 10)])
    func timeToLiveIsALengthOfTime(_ text: String, _ milliseconds: Int) throws {
        #expect(try Self.load("t: null", ttl: "ttl: \(text)").timeToLive == milliseconds)
        #expect(try Self.load("t: null").timeToLive == nil)
    }

    @Test(arguments: ["0", "soon", "[1]", "11y", "4000d", "9ms"])
    func wrongTimeToLiveIsRefused(_ text: String) throws {
        let error = try #require(
            #expect(throws: SourceError.self) { try Self.load("t: null", ttl: "ttl: \(text)") })
        #expect(error.message.contains("ttl must be a length of time") && error.line == 3, "\(error)")
    }
}
