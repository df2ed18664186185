import FluxBusCommand
import Testing

/// Who typed a command is answered in commands and flags, not in operations and members of the protocol.
@Suite("The words of the command line")
struct CommandWordsTests {
    /// By a real engine, whose sentences the command line words for its users.
    @Test(arguments: [
        (
            ["dispatch", "counter/none", "increment"],
            "There is no store counter/none; make it with `fluxbus create`, or list what there is with `fluxbus ls`."
        ),
        (
            ["dispatch", "*", "fly"],
            "No state type has an action `fly`; `fluxbus types` lists what there is."
        ),
        (["create", "counter/a"], "counter/a exists already; use it, or add --if-missing."),
        (
            ["kick", "999"], "There is no client 999 on the bus; `fluxbus clients` lists those there are."
        ),
    ])
    func errorsNameCommandsAndFlags(_ arguments: [String], _ sentence: String) throws {
        let bus = try RememberingBus()
        bus.socketUID = 0
        try bus.ask(#"{"op":"create","store":"counter/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        let run = try CommandRun(arguments, bus: address)
        #expect(run.status != .success)
        #expect(run.messages == "fluxbus: \(sentence)\n")
    }

    @Test func membersOfTheProtocolBecomeFlags() throws {
        let bus = try ScriptedBus {
            [
                ScriptedBus.refusal(
                    of: $0, "invalid_request", "`ifRevision` goes with `store`, `key` does not.")
            ]
        }
        let run = try CommandRun(["dispatch", "counter/a", "increment"], bus: bus.address)
        bus.stop()
        #expect(run.messages == "fluxbus: --if-revision goes with `store`, --key does not.\n")
    }

    /// A type may call a member of a payload as the protocol calls one of a request.
    @Test(arguments: [
        ("kee=1", "open takes no payload.kee; did you mean `key`?"),
        ("zzzzzz=1", "open takes no payload.zzzzzz; valid here: `at`, `key`."),
    ])
    func membersOfAPayloadStayWhatTheyAre(_ member: String, _ sentence: String) throws {
        let definition = """
            type: lock
            initial: { last: null }
            actions: { open: { payload: { key: string?, at: string? }, set: { last: { var: payload } } } }
            """
        let bus = try RememberingBus(definitions: [definition])
        try bus.ask(#"{"op":"create","store":"lock/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        let run = try CommandRun(["dispatch", "lock/a", "open", member], bus: address)
        #expect(run.status == .refused)
        #expect(run.messages == "fluxbus: \(sentence)\n")
    }
}
