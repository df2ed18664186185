import BusJSON
import BusProtocol
import BusTypes
import Flux
import Testing

/// A state whose rules are on the bus alone, as `fluxbus types --swift` prints it.
@Suite struct DeclaredActionTests {
    struct Lamp: SharedState, Equatable {
        var level: JSON = 0

        enum Action: Codable, Sendable, Equatable {
            case dim(to: Int, over: Double? = nil, by: Int = 1, note: JSON? = nil)
            case off
        }

        static let actions = ActionList<Lamp>(declared: [
            "dim": [
                "to": "integer", "over": "number?", "by": ["type": "integer", "default": 1], "note": "any?",
            ],
            "off": [:],
        ])

        typealias Mutations = MirroredMutations<Lamp>
    }

    @Test func payloadsAreHeldToTheDeclaration() throws {
        let list = Lamp.actions
        #expect(list.names == ["dim", "off"])
        let dim = try #require(list.index(of: "dim"))
        #expect(try list.accept(["to": 5], for: dim) == ["to": 5, "by": 1])
        for (payload, message) in [
            (["to": 1.5], "dim takes an integer as payload.to, not a number."),
            (["over": 1], "dim needs an integer as payload.to; add it."),
            (["to": 1, "ovre": 1], "dim takes no payload.ovre; did you mean `over`?"),
        ] as [(JSONObject, String)] {
            let failure = #expect(throws: PayloadFailure.self) { try list.accept(payload, for: dim) }
            #expect(failure?.message == message)
        }
    }

    @Test func actionsSurviveTheWayThere() throws {
        let dim = Lamp.Action.dim(to: 5, over: nil, by: 2, note: .null)
        let coded = try Lamp.actions.encoded(dim)
        #expect(coded.name == "dim")
        #expect(coded.payload == ["to": 5, "by": 2, "note": .null])
        #expect(
            try Lamp.actions.action(named: "dim", payload: ["to": 5, "over": 2])
                == .dim(to: 5, over: 2, by: 1))
        #expect(try Lamp.actions.action(named: "off", payload: [:]) == .off)
        #expect(throws: JSONCodingError.self) { try Lamp.actions.action(named: "on", payload: [:]) }
    }

    @Test func wrongDeclarationIsToldWithTheNearestWord() {
        let list = ActionList<Lamp>(declared: ["dim": ["to": "integr"], "Off": [:]])
        #expect(
            list.mistakes == [
                "In Lamp.actions, an action can't be called Off on the wire; start with a small letter and go on with "
                    + "at most 63 letters, digits, _ or -.",
                "In Lamp.actions, dim.to is of no payload type: did you mean `integer`?",
            ])
    }

    @Test func onlyTheBusCommits() {
        var lamp = Lamp()
        let error = #expect(throws: MirroredStateError.self) {
            try Lamp.Mutations().commit(.off, to: &lamp)
        }
        #expect(error?.description.contains("Only the bus has the rules of lamp") == true)
        #expect(lamp == Lamp())
    }
}
