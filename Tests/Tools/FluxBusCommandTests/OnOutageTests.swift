import BusJSON
import Foundation
import Synchronization
import TestServer
import Testing

/// `fluxbus on` when the bus goes away, when a command hangs, and when the past is gone.
@Suite("A command for each action, whatever happens meanwhile", .timeLimit(.minutes(10)))
struct OnOutageTests {
    @Test func aKilledBusLosesNothingAndRepeatsNothing() throws {
        let bus = try AutomationBus()
        let on = try bus.start(
            "on", "counter/*", "ring", "--since", "start", "--", "sh", "-c", "echo $FLUXBUS_REVISION")
        #expect(try bus.comesTrue("subscriptions"))
        var revisions: [Int] = []
        for _ in 0..<3 {
            for store in ["a", "b", "c"] {
                revisions.append(try bus.dispatch("ring", to: "counter/\(store)"))
            }
            bus.kill()
            try bus.startAgain()
        }
        revisions.append(try bus.dispatch("ring", to: "counter/a"))
        #expect(on.lines(10) == revisions.map { "\($0)" })
        let told = try on.end()
        #expect(
            told.errors.contains("Connection lost; trying again for 30s.\nConnected again, "),
            "\(told.errors)")
        // Killed itself, it begins where whoever counts says: each at least once.
        let again = try bus.run(
            "on", "counter/*", "ring", "--since", "\(revisions[4])", "--count", "5", "--", "sh", "-c",
            "echo $FLUXBUS_REVISION")
        let rung: [String] = revisions.dropFirst(5).map { "\($0)" }
        #expect(again.output.split(separator: "\n").map(String.init) == rung)
    }

    @Test func itGivesUpAfterTheTimeout() throws {
        let bus = try AutomationBus()
        try bus.dispatch("ring", to: "counter/a")
        let on = try bus.start(
            "on", "counter/*", "ring", "--since", "start", "--timeout", "200ms", "--", "sh", "-c",
            "echo up; exec sleep 50")
        #expect(on.reads("up"))
        bus.kill()
        // What runs is ended.
        let told = try on.wait()
        #expect(told.status == 69 && told.errors.contains("start fluxbusd, or name another bus"))
    }

    /// A hundred megabytes wait behind a command that hangs; the bus keeps them. That holds also of what is past when it begins.
    @Test(arguments: [0, 200])
    func aCommandThatHangsTakesNoMemory(past: Int) throws {
        let bus = try AutomationBus()
        try bus.makeGate("gate")
        let text = JSON.string(String(repeating: "x", count: 500_000))
        for _ in 0..<past { try bus.dispatch("write", to: "counter/a", ["text": text]) }
        let on = try bus.start(
            "on", "counter/a", "write", "--since", "start", "--", "sh", "-c",
            "[ -e open ] || timeout 50 cat gate; : > open; wc -c")
        for _ in past..<200 { try bus.dispatch("write", to: "counter/a", ["text": text]) }
        #expect(try bus.comesTrue("lagging") || bus.comesTrue("waiting"))
        try bus.openGate("gate")
        let size = #"{"text":""}"#.utf8.count + 500_000 + 1
        #expect(on.lines(200) == Array(repeating: "\(size)", count: 200))
        let status = try String(contentsOfFile: "/proc/\(on.process)/status", encoding: .utf8)
        let peak = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) })
        #expect(peak < 64 << 10, "It took \(peak) kB.")
        #expect(try on.end().status == 0)
    }

    private static func action(_ revision: Int) -> String {
        #"{"event":"action","sub":1,"revision":\#(revision),"store":"door/a","action":"rang","payload":{},"by":{"daemon":true}}"#
    }

    /// Each subscription is answered, and then with one of `answers`.
    private func bus(_ answers: [[String]]) throws -> ScriptedBus {
        let subscriptions = Mutex(0)
        return try ScriptedBus { line in
            guard ScriptedBus.op(of: line) == "subscribe" else { return [ScriptedBus.reply(to: line)] }
            let index = subscriptions.withLock { number in
                number += 1
                return min(number, answers.count) - 1
            }
            return [ScriptedBus.reply(to: line, ["sub": 1, "revision": 9, "epoch": "e1"])] + answers[index]
        }
    }

    private func run(_ bus: ScriptedBus, _ words: [String]) throws -> RunningProgram.Outcome {
        try RunningProgram.run(
            "fluxbus", words, environment: ["FLUXBUS_ADDRESS": bus.address, "PATH": "/usr/bin:/bin"])
    }

    /// Without a log the bus drops who falls behind too far, and what was missed can't be told.
    @Test func whoFellBehindIsToldWhatIsMissing() throws {
        let goodbye = #"{"event":"goodbye","code":"slow_consumer","message":"Too slow."}"#
        let bus = try bus([
            [Self.action(10), goodbye, ScriptedBus.hangUp],
            [#"{"event":"gap","sub":1,"revision":20}"#, ScriptedBus.hangUp], [Self.action(21)],
        ])
        let told = try run(
            bus,
            [
                "on", "door/*", "rang", "--count", "2", "--", "sh", "-c",
                "echo $FLUXBUS_REVISION $FLUXBUS_USER",
            ])
        bus.stop()
        #expect(told.status == 0 && told.output == "10\n21\n")
        #expect(told.errors.contains("Actions up to revision 20 are no longer kept"), "\(told.errors)")
        let since = bus.received.compactMap { try? JSON(parsing: $0)["since"]?.int }
        #expect(since == [9, 20])
    }

    /// As long as it takes, with pauses.
    @Test func withoutALimitItWaitsForTheBusHoweverOftenItFails() throws {
        let bus = try AutomationBus(stores: ["counter/a"])
        let watch = try bus.start("watch", "counter", "--timeout", "never")
        #expect(watch.nextLine()?.contains(#""reset":true"#) == true)
        bus.kill()
        #expect(watch.waitFor("trying again until the bus answers"))
        try bus.startAgain()
        try bus.dispatch("increment", to: "counter/a")
        // What it has missed is nothing, where the action came later.
        var line = watch.nextLine()
        while line?.contains(#""changes":{}"#) == true { line = watch.nextLine() }
        #expect(line?.contains(#""count":1"#) == true)
        watch.kill()
    }
}
