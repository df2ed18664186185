import BusJSON
import FluxBusCommand
import Testing

/// `brightness=40`: a number where the action takes one. By a real engine, which judges what arrives.
@Suite("The kinds of values on the command line")
struct MemberKindsTests {
    private static let definition = """
        type: board
        initial: { last: null }
        actions:
          put:
            payload:
              whole: integer?
              point: number?
              flag: boolean?
              text: string?
              list: { type: array, optional: true }
              map: { type: object, optional: true }
              choice: { enum: [1, "2", low], optional: true }
              open: any?
              empty: { type: integer, nullable: true, optional: true }
            set: { last: { var: payload } }
          lift: { payload: { by: integer }, set: { last: { var: payload } } }
        """
    private static let other = """
        type: crane
        initial: { last: null }
        actions: { lift: { payload: { by: string }, set: { last: { var: payload } } } }
        """

    private func withBoard(_ body: (RememberingBus, String) throws -> Void) throws {
        let bus = try RememberingBus(definitions: [Self.definition, Self.other])
        try bus.ask(#"{"op":"create","store":"board/a"}"#)
        try bus.ask(#"{"op":"create","store":"crane/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        try body(bus, address)
    }

    @Test(arguments: [
        ("whole=40", #"{"whole":40}"#), ("point=1.5", #"{"point":1.5}"#), ("point=-2", #"{"point":-2}"#),
        ("flag=true", #"{"flag":true}"#), ("list=[1,2]", #"{"list":[1,2]}"#),
        (#"map={"a":1}"#, #"{"map":{"a":1}}"#), ("empty=null", #"{"empty":null}"#),
        ("text=40", #"{"text":"40"}"#), ("text=null", #"{"text":"null"}"#),
        ("choice=1", #"{"choice":1}"#), ("choice=2", #"{"choice":"2"}"#),
        ("open:=40", #"{"open":40}"#), (#"open:="40""#, #"{"open":"40"}"#),
    ])
    func aMemberHasTheKindThatTheActionTakes(_ argument: String, _ payload: String) throws {
        try withBoard { bus, address in
            for more in [[], ["--no-ack"]] {
                let run = try CommandRun(["dispatch", "board/a", "put", argument] + more, bus: address)
                #expect(run.status == .success, "\(run.messages)")
                #expect(run.messages.isEmpty)
                #expect(try bus.now()["board/a"]?["last"]?.encoded == payload)
            }
        }
    }

    /// Where the type leaves it open it is text, and how to write anything else is said beside the result.
    @Test func whatCannotBeKnownIsTextAndIsNoted() throws {
        let note =
            "open=40 was sent as text, because the type does not say what open is: write open:=40 if text is not meant.\n"
        try withBoard { bus, address in
            let arguments = ["dispatch", "board/a", "put", "open=40"]
            let run = try CommandRun(arguments, bus: address)
            #expect(run.status == .success)
            #expect(run.messages == note)
            #expect(try bus.now()["board/a"]?["last"]?["open"] == "40")
            #expect(try CommandRun(arguments + ["--quiet"], bus: address).messages.isEmpty)
            #expect(
                try CommandRun(["dispatch", "board/a", "put", "open=word"], bus: address).messages.isEmpty)
        }
    }

    /// Two types, two kinds: nobody can choose for both.
    @Test func everyTypeThatHasTheActionMustAgree() throws {
        try withBoard { _, address in
            let one = try CommandRun(["dispatch", "board", "lift", "by=2"], bus: address)
            #expect(one.status == .success)
            let both = try CommandRun(["dispatch", "*", "lift", "by=2"], bus: address)
            #expect(both.status == .refused)
            #expect(both.messages.hasSuffix("not a string: write by:=2.\n"), "\(both.messages)")
        }
    }

    @Test func aWordWhereANumberIsTakenIsRefusedByTheBus() throws {
        try withBoard { _, address in
            let run = try CommandRun(["dispatch", "board/a", "put", "whole=many"], bus: address)
            #expect(run.status == .refused)
            #expect(run.messages.hasSuffix("as payload.whole, not a string.\n"), "\(run.messages)")
            let point = try CommandRun(["dispatch", "board/a", "put", "whole=1.5"], bus: address)
            #expect(point.messages.contains("not a number"), "\(point.messages)")
        }
    }

    /// The question costs a round trip, so it is asked only where an answer could matter.
    @Test func onlyWhatCouldBeMoreThanTextIsAsked() throws {
        try withBoard { bus, address in
            _ = try CommandRun(["dispatch", "board/a", "put", "text=word", "whole:=1"], bus: address)
            #expect(bus.received.map(ScriptedBus.op) == ["dispatch"])
            _ = try CommandRun(["dispatch", "board/a", "put", "text=1", "whole=1"], bus: address)
            #expect(bus.received.map(ScriptedBus.op) == ["dispatch", "types", "dispatch"])
        }
    }

    /// Who may dispatch and not read gets the bus's refusal, with how to write the number.
    @Test func aBusThatDoesNotTellIsNotGuessedAbout() throws {
        let bus = try ScriptedBus { line in
            let isQuestion = ScriptedBus.op(of: line) == "types"
            return [
                isQuestion
                    ? ScriptedBus.refusal(of: line, "forbidden")
                    : ScriptedBus.refusal(
                        of: line, "invalid_payload", "lift takes an integer as payload.by, not a string.")
            ]
        }
        let run = try CommandRun(["dispatch", "crane", "lift", "by=40"], bus: bus.address)
        bus.stop()
        #expect(run.status == .refused)
        #expect(run.messages == "fluxbus: lift takes an integer as payload.by, not a string: write by:=40.\n")
    }
}
