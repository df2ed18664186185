import FluxBus
import FluxBusCommand
import Testing

@Suite("Exit codes")
struct CommandStatusTests {
    static let table: [(code: String, status: Int32)] = [
        ("unknown_store", 1), ("unknown_timer", 1), ("exists", 1), ("conflict", 1),
        ("rejected", 65), ("invalid_payload", 65), ("invalid_request", 65), ("unknown_type", 65),
        ("unknown_action", 65), ("unknown_op", 65), ("parse_error", 65), ("too_large", 65),
        ("internal", 70), ("never_heard_of", 70),
        ("unavailable", 75), ("limit", 75),
        ("forbidden", 77), ("unauthorized", 77),
    ]

    @Test(arguments: table)
    func everyCodeOfTheBusHasItsStatus(_ row: (code: String, status: Int32)) throws {
        let bus = try ScriptedBus { [ScriptedBus.refusal(of: $0, row.code, "The bus says no.")] }
        let run = try CommandRun(["dispatch", "counter", "increment"], bus: bus.address)
        #expect(run.status.rawValue == row.status)
        #expect(run.messages.hasPrefix("fluxbus: The bus says no"))
        #expect(run.output.isEmpty)
        bus.stop()
    }

    @Test(arguments: [
        (BusError.Code.invalidAddress, Int32(64)), (.unreachable, 69), (.closed, 69), (.timedOut, 75),
        (.gap, 70),
        (.unexpectedReply, 70),
    ])
    func everyCodeOfThisSideHasItsStatus(_ code: BusError.Code, _ status: Int32) {
        #expect(CommandStatus(code).rawValue == status)
    }

    @Test(arguments: [
        ["dispatch"], ["dispatch", "counter"], ["dispatch", "-", "increment"], ["nothing"],
        ["ls", "--bogus"],
        ["dispatch", "counter", "x", "--if-revision", "3"], ["watch", "--since", "3"],
        ["watch", "--count", "0"],
        ["create", "counter"], ["ls", "--json", "--human"], ["ping", "--timeout", "soon"],
        ["on", "door", "rang"], ["on", "door", "--", "true"],
        ["on", "door", "--for", "1s", "rang", "--", "true"],
        ["on", "door", "rang", "--becomes", "x", "--", "true"],
        ["on", "door", "rang", "--jobs", "0", "--", "true"],
        ["on", "door", "rang", "--epoch", "e", "--", "true"],
        ["on", "door", "rang", "--since", "soon", "--", "true"],
        ["lock", "lease/boiler"], ["lock", "lease", "--", "true"],
        ["lock", "lease/boiler", "--conflict-exit-code", "256", "--", "true"],
        ["wait", "counter"], ["eval"], ["eval", "1", "counter"], ["eval", "1", "c/a", "--state", "{}"],
    ])
    func aWrongCommandLineEndsWith64(_ arguments: [String]) {
        #expect {
            try RootCommand.parseAsRoot(arguments)
        } throws: { error in
            RootCommand.exitCode(for: error).rawValue == 64
        }
    }

    @Test func nobodyAtTheAddressIs69AndSaysWhatToDo() throws {
        let run = try CommandRun(["ping"], bus: "unix:/nowhere/bus.sock")
        #expect(run.status == .unreachable)
        #expect(
            run.messages
                == "fluxbus: No bus answers at unix:/nowhere/bus.sock (No such file or directory): start fluxbusd, "
                + "or name another bus with --address or $FLUXBUS_ADDRESS.\n")
    }

    /// Of several addresses the first is taken that answers, given by options or by the environment.
    @Test func oneOfSeveralAddressesIsEnough() throws {
        let bus = try ScriptedBus { line in [ScriptedBus.reply(to: line)] }
        let given = ["--address", "unix:/nowhere/bus.sock", "--address", bus.address]
        #expect(try CommandRun(["ping"] + given).status == .success)
        #expect(try CommandRun(["ping"], bus: "unix:/nowhere/bus.sock,\(bus.address)").status == .success)
        let none = try CommandRun(["ping"], bus: "unix:/nowhere/one unix:/nowhere/two")
        #expect(none.status == .unreachable)
        #expect(none.messages.contains("/nowhere/one") && none.messages.contains("/nowhere/two"))
        bus.stop()
    }

    @Test func aBusThatEndsTheConnectionIs69() throws {
        let bus = try ScriptedBus { _ in nil }
        #expect(try CommandRun(["ping"], bus: bus.address).status == .unreachable)
        bus.stop()
    }

    @Test func aSilentBusIs75() throws {
        let bus = try ScriptedBus { _ in [] }
        #expect(try CommandRun(["ping", "--timeout", "20ms"], bus: bus.address).status == .temporary)
        bus.stop()
    }

    @Test(arguments: ["nonsense", "[1]", #"{"id":99,"ok":true}"#])
    func whatIsNoBusIs70(_ line: String) throws {
        let bus = try ScriptedBus { _ in [line] }
        #expect(try CommandRun(["stats"], bus: bus.address).status == .internal)
        bus.stop()
    }

    @Test func theWorstIsTheHighest() {
        #expect(CommandStatus.no.worse(.refused) == .refused)
        #expect(CommandStatus.forbidden.worse(.temporary) == .forbidden)
        #expect(CommandStatus.success.worse(.no) == .no)
    }
}
