import BusJSON
import FluxBusCommand
import TestServer
import Testing

/// Commands that take times, on a bus that remembers.
@Suite("Times instead of revisions")
struct PastTimeCommandTests {
    /// A store is made, and then counts once a minute: revision 1 to 4. Gives the time of each commit, in milliseconds.
    private func bus() throws -> (RememberingBus, times: [Int]) {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/kitchen"}"#)
        for _ in 1...3 {
            bus.advance(milliseconds: 60_000)
            try bus.ask(#"{"op":"dispatch","store":"counter/kitchen","action":"increment"}"#)
        }
        return (bus, try bus.commits().compactMap { $0["time"]?.double.map { Int(($0 * 1000).rounded()) } })
    }

    @Test func theStateIsThatOfTheCommitAtOrBefore() throws {
        let (bus, times) = try bus()
        let address = try bus.listen()
        func count(_ time: String) throws -> String {
            try CommandRun(
                ["at", time, "counter/kitchen", "--select", "/count", "--raw"], bus: address,
                now: times[3] + 30_000
            ).output
        }
        #expect(try count("0s") == "3\n")
        #expect(try count("30s") == "3\n")
        #expect(try count("31s") == "2\n")
        #expect(try count("2 minutes ago") == "1\n")
        #expect(try count("now-1m30s") == "2\n")
        #expect(try count("@\(times[0] / 1000).\(String(times[0] % 1000 + 1000).dropFirst())") == "0\n")
        bus.stop()
    }

    @Test func everyCommandThatNamesARevisionTakesATime() throws {
        let (bus, times) = try bus()
        let address = try bus.listen()
        let now = times[3] + 30_000
        func run(_ arguments: String...) throws -> CommandRun {
            try CommandRun(arguments, bus: address, now: now)
        }
        func revisions(_ run: CommandRun) -> [Int] {
            run.lines.compactMap { (try? JSON(parsing: $0))?["revision"]?.int }
        }
        #expect(revisions(try run("log", "--since", "95s")) == [3, 4])
        #expect(revisions(try run("log", "--since", "155s", "--until", "1m")) == [2, 3])
        #expect(revisions(try run("log", "-n", "1", "--until", "1m")) == [3])
        #expect(try run("diff", "95s", "1m", "counter/kitchen").lines.count == 2)
        #expect(revisions(try run("blame", "counter/kitchen", "/count", "--at", "1m")) == [3])
        #expect(try run("types", "counter", "--at", "1m").status == .success)
        #expect(try JSON(parsing: try run("export", "--since", "1m").lines[0])["revision"] == 3)
        #expect(try run("revert", "counter/kitchen", "--to", "95s").status == .success)
        #expect(try run("get", "counter/kitchen", "--select", "/count", "--raw").output == "1\n")
        bus.stop()
    }

    @Test func beforeTheLogThereIsNothing() throws {
        let bus = try RememberingBus(snapshots: [2])
        for name in ["a", "b", "c"] {
            bus.advance(milliseconds: 60_000)
            try bus.ask(#"{"op":"create","store":"counter/\#(name)"}"#)
        }
        let last = try #require(try bus.commits().last?["time"]?.double)
        bus.forget(before: 2)
        let address = try bus.listen()
        let now = Int(last * 1000)
        let at = try CommandRun(["at", "90s"], bus: address, now: now)
        #expect(at.status == .no && at.output.isEmpty && !at.messages.isEmpty)
        let log = try CommandRun(["log", "--since", "90s"], bus: address, now: now)
        #expect(log.status == .success && log.lines.count == 1)
        #expect(log.messages == "Commits up to revision 2 are no longer kept; the log begins after it.\n")
        bus.stop()
    }

    @Test func aBusThatLooksUpNoTimesIsTold() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["commits": [], "oldest": 0])] }
        let run = try CommandRun(["at", "2h"], bus: bus.address)
        bus.stop()
        #expect(run.status == .refused)
        #expect(run.messages.contains("name a revision, or upgrade its fluxbusd"))
    }

    @Test func withoutALogItIsTheBusThatSaysSo() throws {
        let bus = try RememberingBus(keepsLog: false)
        let run = try CommandRun(["at", "2h"], bus: bus.listen())
        bus.stop()
        #expect(run.status == .temporary)
    }

    /// The machine's zone, here given as a rule, so that no table of zones has to be there.
    @Test func theZoneIsThatOfTheMachine() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["since": 7, "states": [:]])] }
        func at(_ time: String, zone: String) throws -> RunningProgram.Outcome {
            try RunningProgram.run(
                "fluxbus", ["at", time], environment: ["FLUXBUS_ADDRESS": bus.address, "TZ": zone])
        }
        let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
        let twice = try at("2025-10-26 02:30", zone: berlin)
        #expect(twice.status == CommandStatus.usage.rawValue)
        #expect(twice.errors.contains("@1761438600") && twice.errors.contains("@1761442200"))
        #expect(try at("2025-10-26 02:30", zone: "UTC0").status == 0)
        #expect(try at("2025-07-01 12:00", zone: berlin).status == 0)
        bus.stop()
        #expect(
            bus.received.filter { $0.contains("history") }.compactMap { try? JSON(parsing: $0)["time"] } == [
                1_761_445_800, 1_751_364_000,
            ])
    }
}
