import BusJSON
import BusProtocol
import BusTypes
import Flux
import Testing

/// What an action list finds out from samples, and that payloads are held to it.
@Suite struct ActionListTests {
    private let list = Heater.actions

    /// A schema in the words of a definition.
    private func schema(_ name: String) throws -> [String: String] {
        let form = list.usable[try #require(list.index(of: name))]
        let members = form.payload.members.map { member in
            let mark = member.fallback.map { "=\($0.encoded)" } ?? (member.isOptional ? "?" : "")
            return (member.name, member.type.rawValue + mark)
        }
        return Dictionary(uniqueKeysWithValues: members)
    }

    private func accepted(_ payload: String, _ name: String) throws -> String {
        let object = try #require(try JSON(parsing: payload).object)
        return JSON.object(try list.accept(object, for: #require(list.index(of: name)))).encoded
    }

    private func refusal(_ payload: String, _ name: String) throws -> String {
        let failure = #expect(throws: PayloadFailure.self) { try accepted(payload, name) }
        return try #require(failure).message
    }

    @Test func namesMembersTypesAndDefaultsAreThoseOfTheEnum() throws {
        #expect(
            list.names == [
                "boost", "plan", "remember", "reset", "setLevel", "setMode", "setTarget", "unusual",
            ])
        #expect(try schema("boost") == ["minutes": "integer=10", "gently": "boolean=false"])
        #expect(try schema("setTarget") == ["celsius": "number", "room": "string?", "by": "integer=1"])
        #expect(try schema("setMode") == ["mode": "string"])
        #expect(try schema("setLevel") == ["level": "integer", "reason": "object?"])
        #expect(try schema("plan") == ["hours": "array", "rooms": "object", "note": "object"])
        #expect(try schema("remember") == ["anything": "any"])
        #expect(
            try schema("unusual")
                == ["small": "integer=7", "mode": "string?", "rooms": "array?", "more": "any?"])
        #expect(try schema("reset") == [:])
    }

    @Test func payloadsAreHeldToTheList() throws {
        #expect(try accepted("{}", "boost") == #"{"gently":false,"minutes":10}"#)
        #expect(try accepted(#"{"celsius":5}"#, "setTarget") == #"{"by":1,"celsius":5}"#)
        #expect(
            try refusal(#"{"minuets":5}"#, "boost")
                == "boost takes no payload.minuets; did you mean `minutes`?"
        )
        #expect(
            try refusal(#"{"room":"a"}"#, "setTarget")
                == "setTarget needs a number as payload.celsius; add it.")
        #expect(
            try refusal(#"{"minutes":5.0}"#, "boost")
                == "boost takes an integer as payload.minutes, not a number.")
        #expect(
            try refusal(#"{"celsius":5,"room":null}"#, "setTarget")
                == "setTarget takes a string as payload.room, not null.")
        #expect(try refusal(#"{"a":1}"#, "reset") == "reset takes no payload; leave payload.a out.")
    }

    @Test func actionsSurviveTheWayThere() throws {
        let actions: [Heater.Action] = [
            .setTarget(celsius: 21.5, room: "kitchen", by: 3), .setTarget(celsius: -1), .boost(),
            .setMode(mode: .off),
            .setLevel(level: .high, reason: .init(text: "cold")), .setLevel(level: .low, reason: nil),
            .plan(hours: [1, 2], rooms: ["a": 1.5], note: .init(text: "")),
            .remember(anything: ["a", .null]),
            .remember(anything: .null), .unusual(small: 255, mode: .manual, rooms: ["b"], more: 1), .reset,
        ]
        for action in actions {
            let (name, payload) = try list.encoded(action)
            #expect(try list.action(named: name, payload: payload) == action)
        }
        #expect(throws: JSONCodingError.self) { try list.encoded(.hidden) }
        #expect(throws: JSONCodingError.self) { try list.action(named: "hidden", payload: [:]) }
    }

    @Test func whatOnlyTheCodingRefusesNamesTheMember() throws {
        func failure(_ name: String, _ payload: JSONObject) throws -> String {
            let failure = #expect(throws: PayloadFailure.self) {
                let index = try #require(list.index(of: name))
                return try list.action(index, with: list.accept(payload, for: index))
            }
            return try #require(failure).message
        }
        #expect(try failure("setMode", ["mode": "hot"]).hasPrefix("setMode can't take this payload.mode: "))
        #expect(
            try failure("unusual", ["small": 256])
                == "unusual can't take this payload.small: 256 is outside 0...255.")
        #expect(
            try failure("plan", ["hours": [1, "x"], "rooms": [:], "note": ["text": ""]])
                == "plan can't take this payload.hours.1: an integer is needed, not a string.")
    }

    /// What a client could not name, and what was forgotten, is said when the type is registered.
    @Test func unlabelledArgumentsAndOmissionsAreMistakes() {
        struct Bare: SharedState {
            enum Action: Codable, Sendable { case set(Int), other(named: Int, String) }
            static let actions = ActionList<Bare>().requiring { .set($0) }.requiring { .other(named: $0, $1) }
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Bare) {} }
        }
        struct Forgetful: SharedState {
            enum Action: Codable, Sendable { case open, close, ring(times: Int = 1), lock(code: Int) }
            static let actions = ActionList<Forgetful>(.open).requiring { .lock(code: $0) }
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Forgetful) {} }
        }
        struct Renamed: SharedState {
            enum Action: Codable, Sendable {
                case open, close
                enum CodingKeys: String, CodingKey { case open = "unlock", close }
            }
            static let actions = ActionList<Renamed>(.open)
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Renamed) {} }
        }
        struct Switch: SharedState {
            enum Action: String, Codable, Sendable { case on, off }
            static let actions = ActionList<Switch>(.on)
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Switch) {} }
        }
        #expect(
            Bare.mistakes() == [
                "In Bare.actions, set takes a value without a label, which clients would have to call _0; "
                    + "give it one, as in set(value: …).",
                "In Bare.actions, other takes a value without a label, which clients would have to call _1; "
                    + "give it one, as in other(value: …).",
            ])
        #expect(
            Forgetful.mistakes()
                == ["close", "ring"].map {
                    "Forgetful.actions does not list \($0); add a sample of it, or say that the wire does not offer it: "
                        + "`.excluding(.\($0))`."
                })
        #expect(Forgetful.actions.excluding(.close, .ring()).omissions.isEmpty)
        #expect(Switch.mistakes().map { $0.contains("does not list off") } == [true])
        // Names that differ from those of the cases can't be found; nothing is said.
        #expect(Renamed.mistakes().isEmpty)
    }

    @Test func actionsMayBeBareNames() throws {
        #expect(Lamp.actions.names == ["off", "on"])
        #expect(try Lamp.actions.encoded(.on).payload == [:])
        #expect(try Lamp.actions.action(named: "off", payload: [:]) == .off)
        #expect(throws: JSONCodingError.self) { try Lamp.actions.action(named: "off", payload: ["a": 1]) }
    }

    @Test func mistakesAreToldInSentences() {
        let mistakes = Broken.mistakes()
        for part in [
            "can't be called Broken on the wire", "lists fine twice", "an action can't be called größer",
            "odd does not decode what it encodes", "makes both fine and größer",
            "fine is the same whatever it is given", "names a twice", "both have count",
        ] {
            #expect(mistakes.contains { $0.contains(part) && $0.hasSuffix(".") }, "\(part)")
        }
        #expect(mistakes.count == 8, "\(mistakes)")
        #expect(Numbered.mistakes().contains { $0.contains("which is not {\"name\":{…}}") })
        #expect(Numbered.mistakes().contains { $0.contains("must be coded as an object") })
        #expect(Heater.mistakes().isEmpty && Lamp.mistakes().isEmpty)
    }

    #if os(Linux)
        @Test func aListThatCantWorkStopsTheProgram() async {
            await #expect(processExitsWith: .failure) { _ = Broken.actions.names }
        }
    #endif
}
