import BusJSON
import Testing

/// `--if`, `--if-revision` and `--atomic`.
@Suite struct ConditionCommandTests {
    private func bus() throws -> ScriptedBus {
        try ScriptedBus { [ScriptedBus.reply(to: $0, ["revision": 7, "matched": 2, "changed": 2])] }
    }

    @Test func conditionIsTextOrJsonLogic() throws {
        let bus = try bus()
        for arguments in [
            ["dispatch", "counter/a", "add", "--if", "count > 3"],
            ["dispatch", "counter/a", "add", "--if", #"{">": [{"var": "count"}, 3]}"#],
            ["drop", "counter/a", "--if", "= {'a': count}.a > 3", "--if-revision", "4"],
        ] { #expect(try CommandRun(arguments, bus: bus.address).status == .success) }
        #expect(
            bus.received == [
                #"{"op":"dispatch","id":1,"store":"counter/a","action":"add","if":"count > 3"}"#,
                #"{"op":"dispatch","id":1,"store":"counter/a","action":"add","if":{">":[{"var":"count"},3]}}"#,
                #"{"op":"drop","id":1,"store":"counter/a","ifRevision":4,"if":"= {'a': count}.a > 3"}"#,
            ])
        let broken = try CommandRun(["drop", "counter/a", "--if", "{"], bus: bus.address)
        #expect(broken.status == .usage)
        bus.stop()
    }

    @Test func filterIsTextOrJsonLogic() throws {
        let bus = try bus()
        for arguments in [
            ["dispatch", "counter", "add", "--where", "count > 3"],
            ["get", "counter", "--where", #"{">": [{"var": "count"}, 3]}"#],
            ["ls", "--where", "count > 3"], ["drop", "counter", "--where", "count > 3", "--key", "k"],
        ] { #expect(try CommandRun(arguments, bus: bus.address).status == .success) }
        #expect(
            bus.received == [
                #"{"op":"dispatch","id":1,"type":"counter","action":"add","where":"count > 3"}"#,
                #"{"op":"get","id":1,"type":"counter","where":{">":[{"var":"count"},3]}}"#,
                #"{"op":"stores","id":1,"where":"count > 3"}"#,
                #"{"op":"drop","id":1,"type":"counter","where":"count > 3","key":"k"}"#,
            ])
        let run = try CommandRun(["drop", "counter", "--where", "true"], bus: bus.address, terminal: true)
        #expect(run.output == "dropped 2 stores, revision 7\n")
        bus.stop()
    }

    @Test(
        arguments: [
            ["dispatch", "counter/a", "add", "--where", "true"], ["dispatch", "-", "--where", "true"],
            ["dispatch", "counter", "add", "--if", "true"], ["dispatch", "-", "--if", "true"],
            ["dispatch", "counter/a", "add", "--atomic"], ["dispatch", "-", "--key", "k"],
            ["dispatch", "--atomic", "-", "--in", "5m"], ["drop", "counter"],
            ["drop", "counter/a", "--where", "true"], ["drop", "counter", "--where", "true", "--if", "true"],
        ])
    func whatGoesTogetherIsSaid(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try CommandRun(arguments) }
    }

    @Test func linesAreOneBatch() throws {
        let bus = try bus()
        let lines = """
            {"op":"create","store":"counter/b"}

            {"store":"counter/b","action":"increment","if":"count == 0"}
            """
        let run = try CommandRun(
            ["dispatch", "--atomic", "-", "--key", "k"], bus: bus.address, input: lines, terminal: true)
        #expect(run.output == "revision 7: 2 stores matched, 2 changed\n")
        #expect(
            bus.received == [
                #"{"op":"dispatch","id":1,"actions":[{"op":"create","store":"counter/b"},{"action":"increment","if":"count == 0","store":"counter/b"}],"key":"k"}"#
            ])
        bus.stop()
    }

    @Test func refusalSaysWhichLine() throws {
        let bus = try ScriptedBus { line in
            [
                line.replacing(/^.*"id":(\d+).*$/) {
                    #"{"id":\#($0.1),"ok":false,"error":{"code":"conflict","message":"It does not hold.","index":1}}"#
                }
            ]
        }
        let lines =
            #"{"store":"counter/a","action":"x"}"# + "\n"
            + #"{"store":"counter/b","action":"x","if":"count > 1"}"#
        let run = try CommandRun(["dispatch", "--atomic", "-"], bus: bus.address, input: lines)
        #expect(run.messages.contains("Request 2 of standard input: It does not hold."))
        bus.stop()
        for input in ["", "{}\nnothing", "[]"] {
            #expect(try CommandRun(["dispatch", "--atomic", "-"], input: input).status == .refused)
        }
    }
}
