import BusJSON
import FluxBusCommand
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Dispatches that come later, on the command line.
@Suite("Timers on the command line") struct TimerCommandTests {
    private static let lamp = """
        type: lamp
        initial: { on: false, times: 0 }
        actions:
          switchOn: { set: { on: true }, timers: { off: { in: 5m, action: switchOff } } }
          switchOff: { set: { on: false }, increment: { times: 1 } }
        """

    private func bus(_ definitions: [String] = [lamp], epoch: String? = nil) throws -> RememberingBus {
        guard let epoch else { return try RememberingBus(definitions: definitions) }
        return try RememberingBus(definitions: definitions, epoch: epoch)
    }

    @Test func timeIsGivenAsALengthOrAsATime() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0)] }
        for arguments in [
            ["--in", "1m30s"], ["--in", "90", "--timer", "tea"], ["--at", "1795000000.5"], ["--in", "250ms"],
        ] {
            _ = try CommandRun(["dispatch", "c/a", "add"] + arguments, bus: bus.address)
        }
        let start = #"{"op":"dispatch","id":1,"store":"c/a","action":"add","#
        #expect(
            bus.received == [
                start + #""in":90}"#, start + #""in":90,"timer":"tea"}"#, start + #""at":1795000000.5}"#,
                start + #""in":0.25}"#,
            ])
        bus.stop()
    }

    /// A time of day is the next one, in the machine's own time zone.
    @Test(arguments: [
        ("%H:%M", 3600, true), ("%H:%M:%S", 3601, true), ("%H:%M:%S", -1, true),
        ("%Y-%m-%dT%H:%M:%S", 86_400 * 3, false), ("%Y-%m-%d %H:%M:%S", -86_400, false),
    ])
    func timeOfDayIsTheNextOne(_ form: String, _ offset: Int, _ isNext: Bool) throws {
        // What the command takes for now.
        let now = 1_795_219_985
        var (wanted, parts) = (now + offset, tm())
        localtime_r(&wanted, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, 64, form, &parts)
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0)] }
        let word = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = try CommandRun(["dispatch", "c/a", "add", "--at", word], bus: bus.address)
        let request = try JSON(parsing: try #require(bus.received.first))
        let at = try #require(request["at"]?.int)
        bus.stop()
        guard isNext else { return #expect(at == wanted) }
        #expect(at > now && at <= now + 90_000)
        // The same minute of a day, be that day one on which clocks change.
        #expect(abs((at - wanted) % 3600) < 60)
    }

    @Test(arguments: [
        ["--in", "soon"], ["--at", "25:00"], ["--at", "2026-02-31T10:00"], ["--at", "noon"],
        ["--in", "1", "--at", "2"], ["--timer", "x"],
    ])
    func wrongTimesAreWrongUsage(_ arguments: [String]) throws {
        #expect(throws: (any Error).self) {
            try RootCommand.parseAsRoot(["dispatch", "c/a", "add"] + arguments)
        }
    }

    @Test func timersAreListedAndCancelled() throws {
        let bus = try bus()
        try bus.ask(#"{"op":"create","store":"lamp/a"}"#)
        try bus.ask(#"{"op":"create","store":"counter/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        let scheduled = try CommandRun(
            ["dispatch", "counter/a", "increment", "--in", "1h", "--timer", "tea"], bus: address,
            terminal: true)
        #expect(scheduled.output.hasPrefix("revision 3: timer tea is due at "))
        _ = try CommandRun(["dispatch", "lamp", "switchOn"], bus: address)
        let listed = try CommandRun(["timers"], bus: address)
        let names = try listed.lines.map { try JSON(parsing: $0)["timer"]?.string }
        #expect(names == ["off", "tea"])
        let table = try CommandRun(["timers", "counter/*"], bus: address, terminal: true)
        #expect(table.output.contains("TIMER") && table.output.contains("tea"))
        #expect(!table.output.contains("off"))
        let cancelled = try CommandRun(["cancel", "counter/a", "tea"], bus: address, terminal: true)
        #expect(cancelled.output == "cancelled tea of counter/a, revision 5\n")
        #expect(try CommandRun(["cancel", "counter/a", "tea"], bus: address).status == .no)
        #expect(try CommandRun(["timers", "counter"], bus: address).output.isEmpty)
        let log = try CommandRun(["log", "counter/a"], bus: address, terminal: true)
        #expect(log.output.contains("counter/a schedule tea: increment"))
        #expect(log.output.contains("counter/a cancel tea"))
    }

    @Test func createTakesALease() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["created": true])] }
        _ = try CommandRun(["create", "counter/guest", "--ttl", "1h"], bus: bus.address)
        #expect(bus.received == [#"{"op":"create","id":1,"store":"counter/guest","ttl":3600}"#])
        bus.stop()
    }

    /// What a timer did in the recording comes from the file; it does not happen once more when the imported action's own
    /// timer is due.
    @Test func importedTimerDoesNotFireTwice() throws {
        let source = try bus()
        try source.ask(#"{"op":"create","store":"lamp/a"}"#)
        try source.ask(#"{"op":"create","store":"lamp/guest","ttl":3600}"#)
        try source.ask(#"{"op":"dispatch","store":"lamp/a","action":"switchOn"}"#)
        source.advance(milliseconds: 300_000)
        let file = try CommandRun(["export"], bus: try source.listen()).output
        source.stop()
        let target = try bus(epoch: "11111111-1111-4111-8111-111111111111")
        let run = try CommandRun(["import", "-"], bus: try target.listen(), input: file)
        target.stop()
        #expect(run.status == .success, "\(run.output)\(run.messages)")
        #expect(try target.now() == source.now())
        target.advance(milliseconds: 300_000)
        #expect(try target.now()["lamp/a"]?["times"] == 1)
        target.advance(milliseconds: 3_600_000)
        #expect(try target.now()["lamp/guest"] == nil)
    }
}
