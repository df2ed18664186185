import BusJSON
import FluxBusCommand
import Testing

@Suite("Bare values")
struct RawValueTests {
    private func bus(_ states: JSON) throws -> ScriptedBus {
        try ScriptedBus { [ScriptedBus.reply(to: $0, ["states": states, "revision": 9])] }
    }

    @Test(
        arguments: [
            (3, "3"), (1.5, "1.5"), (true, "true"), ("on", "on"), ("", ""), ("say \"hi\"\n", "say \"hi\"\n"),
            (["b": 1, "a": [1, "x"]], #"{"a":[1,"x"],"b":1}"#), ([], "[]"), (.null, "null"),
        ] as [(JSON, String)])
    func theSelectedValueStandsAlone(_ value: JSON, _ text: String) throws {
        let bus = try bus(["c/a": ["count": value]])
        for arguments in [["--raw"], ["-r"]] {
            let run = try CommandRun(["get", "c/a", "--select", "/count"] + arguments, bus: bus.address)
            #expect(run.output == text + "\n" && run.status == .success)
        }
        bus.stop()
    }

    @Test func withoutOneSelectionItIsTheState() throws {
        let bus = try bus(["c/a": ["n": 1], "c/b": ["n": 2]])
        #expect(try CommandRun(["get", "c", "--raw"], bus: bus.address).output == "{\"n\":1}\n{\"n\":2}\n")
        let two = try CommandRun(["get", "c", "--raw", "--select", "/n", "--select", "/m"], bus: bus.address)
        #expect(two.output == "{\"n\":1}\n{\"n\":2}\n")
        bus.stop()
    }

    @Test func whatIsNotThereIsNamedAndEndsWithOne() throws {
        let bus = try bus(["c/a": ["n": 1], "c/b": [:]])
        let run = try CommandRun(["get", "c", "--raw", "--select", "/n"], bus: bus.address)
        bus.stop()
        #expect(run.status == .no && run.output == "1\n")
        #expect(run.messages == "fluxbus: There is nothing at /n of c/b.\n")
        let absent = try ScriptedBus {
            [ScriptedBus.refusal(of: $0, "unknown_store", "There is no store c/x.")]
        }
        let none = try CommandRun(["get", "c/x", "--raw"], bus: absent.address)
        absent.stop()
        #expect(
            none.status == .no && none.output.isEmpty && none.messages == "fluxbus: There is no store c/x.\n")
    }

    /// A pipe gets each byte; a terminal nothing that moves its cursor.
    @Test func aTerminalIsSparedControls() throws {
        let bus = try bus(["c/a": ["n": "a\u{1b}[2J\nb"]])
        let arguments = ["get", "c/a", "--raw", "--select", "/n"]
        #expect(try CommandRun(arguments, bus: bus.address).output == "a\u{1b}[2J\nb\n")
        #expect(try CommandRun(arguments, bus: bus.address, terminal: true).output == "a\\u001b[2J\nb\n")
        bus.stop()
    }

    @Test func itIsAFormOfItsOwn() {
        for form in ["--json", "--human"] {
            #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(["get", "c/a", "--raw", form]) }
            #expect(throws: (any Error).self) {
                try RootCommand.parseAsRoot(["at", "1", "c/a", "--raw", form])
            }
        }
    }
}
