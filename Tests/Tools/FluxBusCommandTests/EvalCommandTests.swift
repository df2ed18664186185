import FluxBusCommand
import Testing

/// `fluxbus eval`: the value of an expression, on a state or without one.
struct EvalCommandTests {
    @Test func anExpressionMayBeginWithItsSign() throws {
        let arguments = CommandLineEntry.shielded(["eval", "-(1 + 2)", "--json", "-q"])
        #expect(arguments == ["eval", " -(1 + 2)", "--json", "-q"])
        #expect(try CommandRun(arguments).output == "-3\n")
        #expect(CommandLineEntry.shielded(["dispatch", "-"]) == ["dispatch", "-"])
    }

    /// What stands behind `web` is for another program; elsewhere it is a word like any other.
    @Test func anArgumentMayBeCalledWeb() throws {
        let words = ["--color", "web", "web", "--listen", ":0"]
        #expect(CommandLineEntry.shielded(words) == ["--color", "web", "web", "--", "--listen", ":0"])
        for words in [["web"], ["web", "--", "-q"], ["get", "web", "--json"], ["--help", "web", "-q"]] {
            #expect(CommandLineEntry.shielded(words) == words)
        }
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["states": ["web/a": 1]])] }
        let told = try CommandRun(["get", "web", "--json"], bus: bus.address)
        #expect(told.output == #"{"store":"web/a","state":1}"# + "\n")
    }

    @Test func evalPrintsTheValueOfAnExpression() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["states": ["c/a": ["n": 4, "on": true]]])] }
        #expect(try CommandRun(["eval", "n * 2 + state.n", "c/a"], bus: bus.address).output == "12\n")
        #expect(bus.received == [#"{"op":"get","id":1,"store":"c/a"}"#])
        bus.stop()
        #expect(try CommandRun(["eval", "7 / 2.0"]).output == "3.5\n")
        #expect(try CommandRun(["eval", #"{"+":[1,2]}"#]).output == "3\n")
        #expect(try CommandRun(["eval", "= {'a': b}", "--state", #"{"b":"x"}"#]).output == "{\"a\":\"x\"}\n")
        #expect(try CommandRun(["eval", #"{"k":{"l":[1]}}"#]).output == "{\"k\":{\"l\":[1]}}\n")
        #expect(try CommandRun(["eval", "{'a': 1}.a + 1"]).output == "2\n")
        #expect(try CommandRun(["eval", #"{"vra":"x"}"#]).messages.contains("did you mean `var`?"))
        #expect(try CommandRun(["eval", "'x'"], terminal: true).output == "\"x\"\n")
        let failed = try CommandRun(["eval", "1 / 0"])
        #expect(failed.status == .refused && failed.messages.contains("/ divides by zero"))
        #expect(try CommandRun(["eval", "1 +"]).status == .usage)
        #expect(try CommandRun(["eval", "1", "--state", "[]"]).status == .usage)
    }
}
