import BusJSON
import FluxBusCommand
import Testing

@Suite("Payloads on the command line")
struct MemberArgumentsTests {
    private func parse(_ arguments: String...) throws -> JSONObject {
        try MemberArguments.parse(arguments, input: -1)
    }

    @Test func equalsGivesTextAndColonEqualsGivesJSON() throws {
        #expect(try parse("by=2", "at:=2", "list:=[1,null]") == ["by": "2", "at": 2, "list": [1, .null]])
    }

    @Test func onlyTheFirstEqualsSignCounts() throws {
        #expect(try parse("a=b=c", "d=e:=f", "empty=") == ["a": "b=c", "d": "e:=f", "empty": ""])
    }

    @Test func negativeNumbersAreNoOptions() throws {
        #expect(try parse("by:=-2") == ["by": -2])
    }

    @Test func anObjectAndMembersAddUp() throws {
        #expect(try parse(#"{"a":1}"#, "b:=2") == ["a": 1, "b": 2])
    }

    @Test(arguments: [
        ["by"], ["=x"], [":=1"], ["by:=two"], ["{a}"], ["a=1", "a=2"], [#"{"a":1}"#, "a:=1"],
    ])
    func mistakesAreUsageErrors(_ arguments: [String]) {
        #expect {
            try MemberArguments.parse(arguments, input: -1)
        } throws: { error in
            (error as? CommandFailure)?.status == .usage
        }
    }

    @Test func aStringThatLooksLikeJSONIsExplained() {
        #expect {
            try MemberArguments.parse(["by:=two"], input: -1)
        } throws: { error in
            (error as? CommandFailure)?.message.contains("by=two") ?? false
        }
    }

    @Test func payloadComesFromStandardInput() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0)] }
        let run = try CommandRun(
            ["dispatch", "todo", "add", "-", "b:=2"], bus: bus.address, input: #"{"a":"x"}"#)
        #expect(run.status == .success)
        #expect(
            bus.received == [
                #"{"op":"dispatch","id":1,"type":"todo","action":"add","payload":{"a":"x","b":2}}"#
            ])
        bus.stop()
    }

    @Test(arguments: ["", "[1]", "{\"a\":", "{} {}"])
    func standardInputThatIsNoObjectIsRefusedData(_ input: String) throws {
        let run = try CommandRun(["dispatch", "todo", "add", "-"], bus: "unix:/nowhere", input: input)
        #expect(run.status == .refused)
        #expect(run.messages.hasPrefix("fluxbus: Standard input is not a JSON object"))
    }
}
