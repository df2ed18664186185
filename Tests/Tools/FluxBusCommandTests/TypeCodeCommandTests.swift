import BusJSON
import FluxBusCommand
import TestFiles
import Testing

/// `fluxbus types` as a printer of code: what it takes, where it takes it from. The code itself is `TypeCodeTests`' affair.
@Suite struct TypeCodeCommandTests {
    private let directory = TemporaryDirectory()
    private let lamp = """
        type: lamp
        summary: A lamp.
        initial: { level: 0 }
        actions:
          dim: { payload: { to: integer }, set: { level: { var: payload.to } } }
        """

    @Test func fileIsPrintedWithoutABus() throws {
        let file = try directory.write("a lamp.yaml", lamp)
        for (option, text) in [
            ("--swift", "public struct Lamp: SharedState"), ("--typescript", "export interface Lamp {"),
            ("--python", "class Lamp(TypedDict):"), ("--c", "struct lamp {"), ("--go", "package lamp"),
            ("--rust", "pub struct Lamp {"), ("--json-schema", #""title": "lamp""#),
        ] {
            let run = try CommandRun(["types", "--file", file, option], bus: "unix:/nowhere")
            #expect(run.status == .success)
            #expect(run.output.contains(text), "\(run.output)")
            #expect(run.output.contains("A lamp."))
        }
        let shown = try CommandRun(["types", "--file", file], bus: "unix:/nowhere")
        #expect(try JSON(parsing: shown.output)["type"] == "lamp")
        let seen = try CommandRun(["types", "--file", file, "--human"], bus: "unix:/nowhere")
        #expect(seen.output.hasPrefix("lamp  A lamp.\n"))
    }

    @Test func definitionOfTheBusIsPrinted() throws {
        let definition: JSON = [
            "type": "lamp", "initial": ["level": 0], "computed": ["isOn": .null], "actions": ["off": [:]],
        ]
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["types": [definition]])] }
        let run = try CommandRun(["types", "lamp", "--typescript"], bus: bus.address)
        #expect(bus.received == [#"{"op":"types","id":1,"type":"lamp"}"#])
        #expect(run.output.contains("readonly isOn: unknown;"))
        #expect(run.output.contains("off(store: string | null): LampRequest {"))
        bus.stop()
    }

    @Test func wrongFileIsRefusedWithItsPlace() throws {
        let file = try directory.write("lamp.yaml", lamp.replacing("integer", with: "integr"))
        let run = try CommandRun(["types", "--file", file, "--swift"])
        #expect(run.status == .refused)
        #expect(run.messages.contains("lamp.yaml:5:") && run.messages.contains("did you mean `integer`?"))
        #expect(run.output.isEmpty)
        let missing = try CommandRun(["types", "--file", "\(directory.path)/none.yaml", "--swift"])
        #expect(missing.status == .refused)
        #expect(missing.messages.contains("none.yaml"))
    }

    @Test(arguments: [
        ["types", "--swift"], ["types", "lamp", "--swift", "--python"],
        ["types", "lamp", "--file", "lamp.yaml"],
    ])
    func exactlyOneTypeAndOneLanguage(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(arguments) }
    }
}
