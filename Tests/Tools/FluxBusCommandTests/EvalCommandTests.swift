import Testing

/// `fluxbus eval`: the value of an expression, on a state or without one.
struct EvalCommandTests {
    @Test func evalPrintsTheValueOfAnExpression() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["states": ["c/a": ["n": 4, "on": true]]])] }
        #expect(try CommandRun(["eval", "n * 2 + state.n", "c/a"], bus: bus.address).output == "12\n")
        #expect(bus.received == [#"{"op":"get","id":1,"store":"c/a"}"#])
        bus.stop()
        #expect(try CommandRun(["eval", "7 / 2.0"]).output == "3.5\n")
        #expect(try CommandRun(["eval", #"{"+":[1,2]}"#]).output == "3\n")
        #expect(try CommandRun(["eval", "= {'a': b}", "--state", #"{"b":"x"}"#]).output == "{\"a\":\"x\"}\n")
        #expect(try CommandRun(["eval", "'x'"], terminal: true).output == "\"x\"\n")
        let failed = try CommandRun(["eval", "1 / 0"])
        #expect(failed.status == .refused && failed.messages.contains("/ divides by zero"))
        #expect(try CommandRun(["eval", "1 +"]).status == .usage)
        #expect(try CommandRun(["eval", "1", "--state", "[]"]).status == .usage)
    }
}
