import BusJSON
import FluxBusCommand
import Foundation
import TestFiles
import Testing

/// `fluxbus types test` and `fluxbus types new`.
@Suite struct TypesTestCommandTests {
    private let directory = TemporaryDirectory()
    private let lamp = """
        type: lamp
        initial: { on: false }
        actions: { flip: { toggle: [on] } }
        tests:
          - { name: "it flips #1", dispatch: flip, state: { on: true } }

        """
    private let wrong = "  - { dispatch: [flip, flip], state: { on: true } }\n"

    @Test func whatPassesAndWhatFailsIsShown() throws {
        let file = try directory.write("lamp.yaml", lamp + wrong)
        let place = "\(file):6:44: on is false, not true."
        let people = try CommandRun(["types", "test", directory.path, "--human"])
        #expect(people.status == .no)
        #expect(
            people.lines == [
                "passes  lamp: it flips #1", "fails   lamp: flip", "        \(place)", "2 tests, 1 fail",
            ])
        let tap = try CommandRun(["types", "test", file, "--tap"])
        #expect(tap.status == .no)
        #expect(
            tap.lines == [
                "TAP version 14", "1..2", "ok 1 - lamp: it flips \\#1", "not ok 2 - lamp: flip", "# \(place)",
            ])
        let lines = try CommandRun(["types", "test", directory.path]).lines.map { try JSON(parsing: $0) }
        #expect(lines.map { $0["passes"] } == [true, false])
        #expect(lines[1]["failures"] == [.string(place)] && lines[1]["place"] == .string("\(file):6"))
    }

    @Test func passingIsSuccessAndAMistakeIsNone() throws {
        let file = try directory.write("lamp.yaml", lamp)
        try directory.write(
            "lamp.test.yaml", "type: lamp\ntests: [{ dispatch: flip, state: { on: true } }]\n")
        let all = try CommandRun(["types", "test", directory.path, "--human"])
        #expect(all.status == .success && all.lines.last == "2 tests, all pass")
        let one = try CommandRun(["types", "test", file, "--human"])
        #expect(one.status == .success && one.lines.last == "1 test, all pass")
        try directory.write(
            "lamp.test.yaml", "type: lamp\ntests: [{ dispatch: flop, state: { on: true } }]\n")
        let mistake = try CommandRun(["types", "test", directory.path])
        #expect(mistake.status == .refused && mistake.messages.contains("did you mean `flip`?"))
        // What is not there is no file without a test.
        let missing = try CommandRun(["types", "test", "\(directory.path)/lam.yaml"])
        #expect(missing.status == .usage && missing.messages.contains("lam.yaml can't be read: No such file"))
        let nowhere = try CommandRun(["types", "test", "\(directory.path)/draft"])
        #expect(nowhere.status == .refused && nowhere.messages.split(separator: "\n").count == 1)
        // Several mistakes have a line each.
        try directory.write("lamp.yaml", "type: lamp\ninitial: { on: false }\nsummary: 5\nlett: 1\n")
        let mistakes = try CommandRun(["types", "test", directory.path]).messages.split(separator: "\n")
        #expect(mistakes.count == 2 && mistakes.allSatisfy { $0.contains("/lamp.yaml:") }, "\(mistakes)")
    }

    @Test func aNewTypeLoadsAndItsTestsPass() throws {
        let made = try CommandRun(["types", "new", "lamp", directory.path])
        #expect(made.status == .success)
        let run = try CommandRun(["types", "test", directory.path, "--human"])
        #expect(run.status == .success && run.lines.last == "2 tests, all pass")
        let text = try String(contentsOfFile: "\(directory.path)/lamp.yaml", encoding: .utf8)
        #expect(text.hasPrefix("# yaml-language-server: $schema=/"))
        #expect(try CommandRun(["types", "new", "lamp", directory.path]).status == .usage)
        let draft = "\(directory.path)/draft"
        #expect(try CommandRun(["types", "new", "door", draft]).status == .success)
        #expect(try CommandRun(["types", "test", "\(draft)/door.yaml"]).lines.count == 2)
        #expect(
            try CommandRun(["types", "new", "Lamp", directory.path]).messages.contains("can't be called Lamp")
        )
    }

    @Test func aTestIsMadeOfACommit() throws {
        let commit: JSON = [
            "revision": 7, "time": 1_795_000_000.5, "by": ["uid": 5],
            "actions": [
                [
                    "type": "lamp", "action": "flip", "payload": ["a": "x", "pin": "sha256:5e88"],
                    "results": ["lamp/a": 1, "lamp/b": 2],
                ]
            ],
        ]
        let definition: JSON = [
            "type": "lamp", "initial": ["on": false], "computed": ["off": "!on"], "waitFor": ["lamp"],
            "actions": ["flip": ["redact": ["/pin", "/other"]]],
        ]
        let bus = try ScriptedBus { line in
            let request = try? JSON(parsing: line)
            let on = request?["revision"] == 7
            let reply: JSONObject =
                switch request?["op"]?.string {
                case "history": ["commits": [commit]]
                case "types": ["types": [definition]]
                default:
                    [
                        "states": [
                            "lamp/a": ["on": true, "off": false],
                            "lamp/b": [
                                "on": .bool(on), "off": .bool(!on), "more": on ? ["y": 2] : ["x": 1, "y": 2],
                            ],
                        ]
                    ]
                }
            return [ScriptedBus.reply(to: line, reply)]
        }
        let run = try CommandRun(["types", "test", "--record", "7"], bus: bus.address)
        bus.stop()
        #expect(
            run.lines == [
                "# What revision 7 did.", "type: lamp", "tests:", #"  - name: "flip, as in revision 7""#,
                #"    store: "b""#, "    time: 1795000000.5", "    uid: 5",
                #"    given: {"more":{"x":1,"y":2},"on":false}"#, #"    stores: {"lamp/a":{"on":true}}"#,
                #"    dispatch: {"action":"flip","type":"lamp"}"#,
                "    # The log does not have payload.pin; add a value, if the action needs one.",
                #"    payload: {"a":"x"}"#,
                #"    state: {"more":{"x":null,"y":2},"off":false,"on":true}"#,
                #"    returns: {"lamp/a":1,"lamp/b":2}"#,
            ])
    }

    /// It holds where the dispatch went to the stores that the type reads, too, and for any text.
    @Test(arguments: ["plain", "\u{2028}\u{2029}\u{85}\u{7f}\u{feff}\u{fffe}\u{1f600}"])
    func aTestThatIsMadeOfACommitPasses(text: String) throws {
        // Each reads what the dispatch made of the next one.
        let definitions = [
            "a": "type: a\nwaitFor: [b]\ninitial: { n: 0, text: '' }\n"
                + "actions:\n  addUp:\n    set:\n      n: = stores[\"b/main\"].n",
            "b": "type: b\nwaitFor: [c]\ninitial: { n: 0 }\n"
                + "actions:\n  addUp:\n    set:\n      n: = stores[\"c/main\"].n",
            "c": "type: c\ninitial: { n: 0 }\nactions: { addUp: { increment: { n: 1 } } }",
        ]
        let bus = try RememberingBus(definitions: definitions.values.sorted())
        try bus.ask(#"{"op":"create","store":"a/main","state":{"text":"\#(text)"}}"#)
        for type in ["b", "c"] { try bus.ask(#"{"op":"create","store":"\#(type)/main"}"#) }
        try bus.ask(#"{"op":"dispatch","type":"*","action":"addUp"}"#)
        let record = try CommandRun(["types", "test", "--record", "4"], bus: try bus.listen())
        bus.stop()
        #expect(record.lines.contains(#"    dispatch: {"action":"addUp","type":"*"}"#), "\(record)")
        for (name, definition) in definitions { try directory.write("\(name).yaml", definition) }
        try directory.write("a.test.yaml", record.output)
        let run = try CommandRun(["types", "test", directory.path, "--human"])
        #expect(run.status == .success && run.lines.last == "1 test, all pass", "\(run)")
    }
}
