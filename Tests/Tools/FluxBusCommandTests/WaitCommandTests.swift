import FluxBusCommand
import TestServer
import Testing

/// `wait` for several stores.
@Suite struct WaitCommandTests {
    private static func begin(_ states: String) -> String {
        #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":\#(states)}"#
    }

    /// A bus that answers a subscription with these events.
    private func bus(_ events: String...) throws -> ScriptedBus {
        try ScriptedBus { [ScriptedBus.reply(to: $0, ["sub": 1])] + events }
    }

    private func wait(_ arguments: String..., for bus: ScriptedBus) throws -> CommandRun {
        try CommandRun(["wait"] + arguments, bus: bus.address)
    }

    /// The bus is asked for the stores on which it holds: that there is one, or that there is none, is all there is to know.
    @Test func anyAndNoneAreAskedByValue() throws {
        let comes = try bus(
            Self.begin("{}"),
            #"{"event":"change","sub":1,"from":1,"revision":2,"states":{"light/a":{"isOn":true}}}"#)
        for arguments in [
            ["light/*", "isOn"], ["light/*", "--until", "isOn"], ["light/?", "isOn", "--any"],
        ] {
            #expect(try CommandRun(["wait"] + arguments, bus: comes.address).status == .success)
        }
        let none = try wait("light/*", "isOn", "--none", for: comes)
        #expect(none.status == .success)
        comes.stop()
        #expect(
            comes.received == [
                #"{"op":"subscribe","id":1,"match":"light/*","where":"isOn"}"#,
                #"{"op":"subscribe","id":1,"match":"light/*","where":"isOn"}"#,
                #"{"op":"subscribe","id":1,"match":"light/?","where":"isOn"}"#,
                #"{"op":"subscribe","id":1,"match":"light/*","where":"isOn"}"#,
            ])
        let goes = try bus(
            Self.begin(#"{"light/a":{"isOn":true},"light/b":{"isOn":true}}"#),
            #"{"event":"change","sub":1,"from":1,"revision":2,"dropped":["light/a"]}"#,
            #"{"event":"change","sub":1,"from":2,"revision":3,"dropped":["light/b"]}"#)
        #expect(try wait("light/*", "isOn", "--none", for: goes).status == .success)
        #expect(try wait("light/*", "--none", for: goes).status == .success)
        #expect(try wait("light/a", "isOn", "--none", for: goes).status == .success)
        #expect(goes.received.last == #"{"op":"subscribe","id":1,"store":"light/a","where":"isOn"}"#)
        goes.stop()
    }

    /// Stores that come and go count while they are there, and without any it waits.
    @Test func allNeedsOneAtLeast() throws {
        let bus = try bus(
            Self.begin("{}"),
            #"{"event":"change","sub":1,"from":1,"revision":2,"states":{"light/a":{"n":1},"light/b":{"n":5}}}"#,
            #"{"event":"change","sub":1,"from":2,"revision":3,"changes":{"light/a":{"n":4}}}"#,
            #"{"event":"change","sub":1,"from":3,"revision":4,"dropped":["light/b"]}"#,
            #"{"event":"change","sub":1,"from":4,"revision":5,"dropped":["light/a"]}"#)
        func status(_ expression: String, within time: String = "30s") throws -> CommandStatus {
            try wait("light/*", expression, "--all", "--timeout", time, for: bus).status
        }
        #expect(try status("n > 4", within: "50ms") == .temporary)
        #expect(try status("n > 3") == .success)
        #expect(try status("n == 4") == .success)
        #expect(try status("n == 4 && store == 'light/a'") == .success)
        #expect(try status("m == 4 || true") == .success)
        #expect(try status("m == 4", within: "50ms") == .temporary)
        #expect(bus.received.allSatisfy { !$0.contains("where") })
        bus.stop()
    }

    /// Changes may come as fast as they are read, without end.
    @Test func theTimeIsKeptOnABusyBus() throws {
        func state(_ number: Int) -> String {
            #"{"event":"change","sub":1,"from":1,"revision":2,"reset":true,"states":{"light/a":{"n":\#(number)}}}"#
        }
        let changes = Array(repeating: state(1), count: 20_000) + [state(5)]
        let bus = try bus(Self.begin("{}"), changes.joined(separator: "\n"))
        let late = try wait("light/*", "n > 4", "--all", "--timeout", "20ms", for: bus)
        #expect(late.status == .temporary)
        bus.stop()
    }

    /// What is known after a lost connection is what the bus says then.
    @Test func allForgetsAtAReset() throws {
        let bus = try bus(
            Self.begin(#"{"light/a":{"n":1}}"#),
            #"{"event":"change","sub":1,"from":1,"revision":2,"reset":true,"states":{"light/b":{"n":5}}}"#)
        #expect(try wait("light/*", "n > 4", "--all", for: bus).status == .success)
        bus.stop()
    }

    @Test(
        arguments: [
            (["light/*"], "No store light/* was created"),
            (["light/*", "isOn"], "The expression did not become true on any store light/*"),
            (["light/*", "isOn", "--all"], "The expression did not become true on all stores light/*"),
        ])
    func onAnEmptySetOnlyNoneHolds(_ arguments: [String], _ sentence: String) throws {
        let bus = try bus(Self.begin("{}"))
        let late = try CommandRun(["wait"] + arguments + ["--timeout", "20ms"], bus: bus.address)
        #expect(late.status == .temporary)
        #expect(late.messages == "fluxbus: \(sentence) within 20ms.\n")
        let once = try CommandRun(["wait"] + arguments + ["--timeout", "0"], bus: bus.address)
        #expect(once.status == .no)
        #expect(try wait("light/*", "isOn", "--none", "--timeout", "0", for: bus).status == .success)
        bus.stop()
    }

    @Test func noneThatHoldsOnSomeSaysSo() throws {
        let bus = try bus(Self.begin(#"{"light/a":{}}"#))
        let held = try wait("light/*", "isOn", "--none", "--timeout", "20ms", for: bus)
        #expect(held.messages == "fluxbus: The expression still held on a store light/* within 20ms.\n")
        let there = try wait("light/*", "--none", "--timeout", "20ms", for: bus)
        #expect(there.messages == "fluxbus: There was a store light/* still within 20ms.\n")
        bus.stop()
    }

    @Test(
        arguments: [
            ["wait", "light/*", "isOn", "--until", "isOn"], ["wait", "light/*", "--all"],
            ["wait", "light/*", "isOn", "--all", "--none"], ["wait", "--until", "isOn"], ["wait", "--none"],
            ["wait", "light", "--until", "isOn"],
        ])
    func whatGoesTogetherIsSaid(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try CommandRun(arguments) }
    }

    @Test func mistakesInTheExpressionAre64() throws {
        let bus = try bus(Self.begin("{}"))
        for expression in ["n >", "size(n)", "{", "meta.time > 3"] {
            #expect(
                try wait("light/*", expression, "--all", for: bus).status == .usage, "\(expression)")
        }
        bus.stop()
    }

    /// With a real bus: the set changes by value, and by stores that come and go.
    @Test(.timeLimit(.minutes(10))) func aBusSaysWhenItHolds() throws {
        var setup = LiveBus.Setup()
        setup.stores = []
        let bus = try LiveBus(setup)
        func run(_ arguments: String...) throws -> CommandStatus {
            try CommandRun(arguments, bus: bus.address).status
        }
        #expect(try run("wait", "counter/*", "--timeout", "0", "--none") == .success)
        #expect(try run("create", "counter/a") == .success)
        #expect(try run("create", "counter/b", "count=7") == .success)
        #expect(try run("wait", "counter/*", "count > 5") == .success)
        #expect(try run("wait", "counter/*", "count > 5", "--all", "--timeout", "0") == .no)
        #expect(try run("wait", "counter/*", "count > 5", "--none", "--timeout", "0") == .no)
        #expect(try run("drop", "counter", "--where", "count < 5") == .success)
        #expect(try run("wait", "counter/*", "count > 5", "--all") == .success)
        #expect(try run("drop", "counter", "--where", "true") == .success)
        #expect(try run("wait", "counter/*", "count > 5", "--none", "--timeout", "0") == .success)
        #expect(try run("wait", "counter/*", "none > 5 +", "--timeout", "0").rawValue != 0)
        #expect(try run("wait", "nothing/*", "isOn", "--timeout", "0").rawValue != 0)
        bus.stop()
    }
}
