import BusJSON
import Foundation
import Synchronization
import TestServer
import Testing

/// `fluxbus on --becomes`: when a condition begins to hold, and when it has held for a while.
@Suite("A command when a condition becomes true", .timeLimit(.minutes(10)))
struct OnConditionTests {
    private static let script = #"echo {} $FLUXBUS_REVISION "$FLUXBUS_ACTION"; cat"#

    private func start(_ bus: AutomationBus, _ more: [String] = []) throws -> RunningProgram {
        let on = try bus.start(
            ["on", "counter/*", "--becomes", "count > 3"] + more + ["--", "sh", "-c", Self.script])
        #expect(try bus.comesTrue("subscriptions"))
        return on
    }

    @Test func itRunsWhenTheConditionTurnsTrueAfterItWasFalse() throws {
        let bus = try AutomationBus()
        try bus.dispatch("increment", to: "counter/a", ["by": 5])
        let on = try start(bus)
        // True before, and still; true; still; false; true again.
        try bus.dispatch("increment", to: "counter/a")
        let first = try bus.dispatch("increment", to: "counter/b", ["by": 4])
        try bus.dispatch("increment", to: "counter/b")
        try bus.dispatch("increment", to: "counter/b", ["by": -3])
        let second = try bus.dispatch("increment", to: "counter/b", ["by": 7])
        try bus.ask(["op": "drop", "store": "counter/a"])
        let made = try #require(
            try bus.ask(["op": "create", "store": "counter/a", "state": ["count": 6]])["revision"]?.int)
        #expect(
            on.lines(6) == [
                "b \(first) increment", #"{"count":4,"note":""}"#, "b \(second) increment",
                #"{"count":9,"note":""}"#, "a \(made) ", #"{"count":6,"note":""}"#,
            ])
        #expect(try on.end().status == 0)
    }

    @Test func sinceARevisionItIsWhatHasBecomeTrueAfterIt() throws {
        let bus = try AutomationBus()
        let revision = try bus.dispatch("increment", to: "counter/a", ["by": 5])
        try bus.dispatch("increment", to: "counter/a")
        try bus.dispatch("increment", to: "counter/b", ["by": 6])
        for (since, expected) in [("\(revision)", ["b"]), ("start", ["a", "b"])] {
            let told = try bus.run(
                "on", "counter/*", "--becomes", "count > 3", "--since", since, "--count", "\(expected.count)",
                "--",
                "echo", "{}")
            #expect(told.output.split(separator: "\n").map(String.init) == expected, "\(told.errors)")
        }
    }

    /// Half the time passes before the bus is killed; nothing is counted from the restart.
    @Test func forCountsThroughARestartOfTheBus() throws {
        let bus = try AutomationBus()
        let on = try start(bus, ["--for", "12s"])
        let begin = ContinuousClock.now
        let revision = try bus.dispatch("increment", to: "counter/b", ["by": 4])
        // It is true for a moment only.
        try bus.dispatch("increment", to: "counter/c", ["by": 4])
        try bus.dispatch("increment", to: "counter/c", ["by": -4])
        while ContinuousClock.now - begin < .seconds(6) {
            try bus.dispatch("increment", to: "counter/c", ["by": 0])
        }
        bus.kill()
        try bus.startAgain()
        #expect(on.waitFor("Connected again"))
        let connected = ContinuousClock.now
        try bus.dispatch("increment", to: "counter/b")
        #expect(on.lines(2) == ["b \(revision) increment", #"{"count":5,"note":""}"#])
        let end = ContinuousClock.now
        #expect(end - begin >= .seconds(12) && end - connected < .seconds(12), "\(end - begin)")
        // Only once, and not for what ceased.
        let told = try on.end()
        #expect(told.status == 0 && told.output.split(separator: "\n").count == 2, "\(told.output)")
    }

    @Test func whatCeasesAndBeginsAgainBeginsToCountAgain() throws {
        let bus = try AutomationBus()
        let on = try start(bus, ["--for", "300ms"])
        var revision = 0
        var begin = ContinuousClock.now
        for _ in 0..<60 {
            begin = ContinuousClock.now
            revision = try bus.dispatch("increment", to: "counter/b", ["by": 4])
            try bus.dispatch("increment", to: "counter/b", ["by": -4])
        }
        revision = try bus.dispatch("increment", to: "counter/b", ["by": 4])
        #expect(on.nextLine() == "b \(revision) increment")
        #expect(ContinuousClock.now - begin >= .milliseconds(300))
        #expect(on.nextLine() == #"{"count":4,"note":""}"#)
        let told = try on.end()
        #expect(told.output.split(separator: "\n").count == 2, "\(told.output)")
    }

    // MARK: Other histories

    private static func reset(_ stores: [String], more: Bool = false, first: Bool = true) -> String {
        let states = stores.map { #""c/\#($0)":{"n":1}"# }.joined(separator: ",")
        let head = first ? #""from":0,"reset":true,"# : ""
        return
            #"{"event":"change","sub":1,\#(head)"revision":5,"states":{\#(states)}\#(more ? #","more":true"# : "")}"#
    }

    /// After a reset it is compared with what was known: what had not come before has become true.
    @Test func aResetIsComparedWithWhatWasKnown() throws {
        let subscriptions = Mutex(0)
        let bus = try ScriptedBus { line in
            let number = subscriptions.withLock { number in
                number += 1
                return number
            }
            let reply = ScriptedBus.reply(
                to: line, ["sub": 1, "revision": 5, "epoch": .string("e\(number)")])
            let answers = [
                // It is lost in the middle of the first states, and then in the middle of others.
                [Self.reset(["a"], more: true), ScriptedBus.hangUp],
                [Self.reset(["a"], more: true), Self.reset(["b"], first: false), ScriptedBus.hangUp],
                [Self.reset(["c"], more: true), ScriptedBus.hangUp],
                [
                    Self.reset(["c"], more: true), Self.reset(["b"], first: false),
                    Self.reset(["a", "b", "c"]),
                ],
            ]
            return [reply] + answers[min(number, answers.count) - 1]
        }
        let told = try RunningProgram.run(
            "fluxbus", ["on", "c", "--becomes", "n == 1", "--count", "2", "--", "echo", "{}"],
            environment: ["FLUXBUS_ADDRESS": bus.address, "PATH": "/usr/bin:/bin"])
        bus.stop()
        #expect(told.status == 0 && told.output == "c\na\n", "\(told.errors)")
        #expect(told.errors.contains("the bus has a new epoch"))
    }
}
