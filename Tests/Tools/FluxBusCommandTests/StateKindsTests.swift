import BusJSON
import FluxBusCommand
import TestModes
import Testing

/// `fluxbus create light/hall brightness=40`: a number where the type's state has one. By a real engine, which judges what
/// arrives.
@Suite("The kinds of a new store's values on the command line", .inBothModes)
struct StateKindsTests {
    private static let declared = """
        type: panel
        state:
          isOn: { type: boolean, default: false }
          brightness: { type: integer, default: 100 }
          label: { type: string, default: "" }
          room: { type: string, nullable: true, default: null }
          mode: { enum: [1, "2", low], default: low }
          tags: { type: array, items: string, default: [] }
          open: { type: any, default: 1 }
        actions: { clear: { set: { label: "" } } }
        """
    private static let initial = """
        type: gauge
        initial: { count: 0, ratio: 0.5, isOn: false, name: "", tags: [], map: {}, last: null }
        actions: { clear: { set: { count: 0 } } }
        """

    private func create(_ store: String, _ arguments: [String]) throws -> (CommandRun, JSONObject?) {
        let bus = try RememberingBus(definitions: [Self.declared, Self.initial])
        let address = try bus.listen()
        defer { bus.stop() }
        let run = try CommandRun(["create", store] + arguments, bus: address)
        return (run, try bus.now()[store]?.object)
    }

    @Test(arguments: [
        ("panel", "brightness=40", "40"), ("panel", "isOn=true", "true"), ("panel", "label=40", #""40""#),
        ("panel", "room=12", #""12""#), ("panel", "mode=1", "1"), ("panel", "mode=2", #""2""#),
        ("panel", #"tags=["a"]"#, #"["a"]"#),
        ("gauge", "count=40", "40"), ("gauge", "count=1.5", "1.5"), ("gauge", "ratio=2", "2"),
        ("gauge", "isOn=true", "true"), ("gauge", "name=40", #""40""#), ("gauge", "tags=[1]", "[1]"),
        ("gauge", #"map={"a":1}"#, #"{"a":1}"#), ("gauge", "count=many", #""many""#),
    ])
    func aMemberHasTheKindThatTheStateHas(_ type: String, _ argument: String, _ value: String) throws {
        let (run, state) = try create("\(type)/a", [argument])
        #expect(run.status == .success, "\(run.messages)")
        #expect(run.messages.isEmpty)
        let key = String(argument.prefix { $0 != "=" })
        #expect(state?[key]?.encoded == value)
    }

    /// What is null at first, or of another kind than the value at first, may be anything.
    @Test(arguments: [("panel", "open"), ("gauge", "last"), ("gauge", "isOn"), ("gauge", "map")])
    func whatCannotBeKnownIsTextAndIsNoted(_ type: String, _ key: String) throws {
        let (run, state) = try create("\(type)/a", ["\(key)=40"])
        #expect(run.status == .success)
        #expect(
            run.messages
                == "\(key)=40 was set as text, because the type does not say what \(key) is: write \(key):=40 if text is not meant.\n"
        )
        #expect(state?[key] == "40")
    }

    @Test func aStoreThatExistsGetsNoNote() throws {
        let bus = try RememberingBus(definitions: [Self.initial])
        try bus.ask(#"{"op":"create","store":"gauge/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        let run = try CommandRun(["create", "gauge/a", "last=40", "--if-missing"], bus: address)
        #expect(run.status == .success)
        #expect(run.messages.isEmpty)
    }

    @Test func onlyWhatCouldBeMoreThanTextIsAsked() throws {
        let bus = try RememberingBus(definitions: [Self.declared])
        let address = try bus.listen()
        defer { bus.stop() }
        _ = try CommandRun(["create", "panel/a", "label=word", "brightness:=1"], bus: address)
        #expect(bus.received.map(ScriptedBus.op) == ["create"])
        _ = try CommandRun(["create", "panel/b", "label=1"], bus: address)
        #expect(bus.received.map(ScriptedBus.op) == ["create", "types", "create"])
    }

    /// Who may create and not read gets the bus's refusal, with how to write the number.
    @Test(.aloneOnly(because: "It makes no bus."))
    func aBusThatDoesNotTellIsNotGuessedAbout() throws {
        let bus = try ScriptedBus { line in
            let isQuestion = ScriptedBus.op(of: line) == "types"
            return [
                isQuestion
                    ? ScriptedBus.refusal(of: line, "forbidden")
                    : ScriptedBus.refusal(
                        of: line, "invalid_request", "brightness must be an integer, not a string.")
            ]
        }
        let run = try CommandRun(["create", "panel/a", "brightness=40"], bus: bus.address)
        bus.stop()
        #expect(run.status == .refused)
        #expect(
            run.messages
                == "fluxbus: brightness must be an integer, not a string: write brightness:=40.\n")
    }
}
