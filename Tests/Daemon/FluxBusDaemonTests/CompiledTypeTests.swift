import BusDefinitions
import BusEngine
import BusJSON
import BusLogic
import BusServer
import BusSource
import FluxBusDaemon
import TestModes
import TestSupport
import Testing

/// What a compiled type adds to a declared one: Swift code that fails in its own ways.
@Suite(.inBothModes) struct CompiledTypeTests {
    /// A state whose mutations do what they should not.
    struct Unruly: SharedState {
        var number = 1.0
        var deep: JSON = 0
        var text = ""
        var note: String?
        enum Action: Codable, Sendable {
            case divide(by: Double = 0), nest(levels: UInt8 = 70), fill(count: UInt32), fail
        }
        static let actions = ActionList<Unruly>(.divide(), .nest(), .fail).requiring { .fill(count: $0) }
        static let published: PublishedValues<Unruly> = [
            "inverse": { 1 / ($0.number - 2) }, "deeper": { JSON.array([$0.deep]) },
        ]
        enum Trouble: Error { case ofSomeKind }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Unruly.Action, to state: inout Unruly) throws {
                switch action {
                case .divide(let divisor): state.number = 1 / divisor
                case .nest(let levels): for _ in 0..<levels { state.deep = [state.deep] }
                case .fill(let count): state.text = String(repeating: "x", count: Int(count))
                case .fail:
                    state.number = 99
                    throw Trouble.ofSomeKind
                }
            }
        }
    }

    private func bus(_ types: any SharedState.Type...) throws -> MemoryClient {
        var setup = MemoryBus.Setup()
        setup.natives = try FluxBusDaemon.compile(types)
        setup.stores = types.map { "\($0.typeName)/main" }
        return try MemoryBus(setup).connect()
    }

    private func message(_ client: MemoryClient, _ line: String) throws -> String? {
        try client.ask(line).last?["error"]?["message"]?.string
    }

    @Test func whatGoesWrongInSwiftIsRejectedAndChangesNothing() throws {
        let client = try bus(Unruly.self)
        let before = try client.ask(#"{"op":"get","store":"unruly/main"}"#)
        #expect(
            try message(client, #"{"op":"dispatch","type":"unruly","action":"divide"}"#)
                == "unruly/main refused divide: the new state can't be written, number: inf is not a finite number."
        )
        #expect(
            try message(client, #"{"op":"dispatch","type":"unruly","action":"nest"}"#)
                == "unruly/main refused nest: the new state can't be written, The state nests too deeply; make it flatter."
        )
        #expect(
            try message(client, #"{"op":"dispatch","type":"unruly","action":"fail"}"#)
                == "unruly/main refused fail: ofSomeKind.")
        let tooLarge = try client.ask(
            #"{"op":"dispatch","type":"unruly","action":"fill","payload":{"count":2000000}}"#)
        #expect(tooLarge.last?["error"]?["code"] == "too_large")
        #expect(try client.ask(#"{"op":"get","store":"unruly/main"}"#) == before)
    }

    @Test func largeStatesSpendTheBudgetOfACommit() throws {
        let client = try bus(Unruly.self)
        _ = try client.ask(#"{"op":"dispatch","type":"unruly","action":"fill","payload":{"count":1000000}}"#)
        let one = #"{"type":"unruly","action":"divide","payload":{"by":2}}"#
        func batch(_ count: Int) throws -> JSON? {
            let actions = Array(repeating: one, count: count).joined(separator: ",")
            return try client.ask(#"{"op":"dispatch","dryRun":true,"actions":[\#(actions)]}"#).last
        }
        #expect(try batch(2)?["ok"] == true)
        #expect(
            try batch(400)?["error"]?["message"]
                == "unruly/main refused divide: the commit's budget is used up; do less in one dispatch.")
    }

    @Test func aRejectionLateInABatchTakesEverythingBack() throws {
        let client = try bus(Tally.self)
        _ = try client.ask(
            #"{"op":"create","store":"tally/b","state":{"count":4,"log":[{"text":"t","by":1}],"items":{"k":[1]}}}"#
        )
        let before = try client.ask(#"{"op":"get","type":"tally"}"#)
        let failed = try client.ask(
            """
            {"op":"dispatch","actions":[{"type":"tally","action":"increment"},{"type":"tally","action":"note",\
            "payload":{"text":"x"}},{"store":"tally/b","action":"put","payload":{"key":"n","value":{}}},\
            {"store":"tally/b","action":"clear"},{"type":"*","action":"increment"},\
            {"store":"tally/b","action":"spoil"}]}
            """)
        #expect(failed.last?["error"]?["code"] == "rejected")
        #expect(failed.last?["error"]?["index"] == 5)
        #expect(try client.ask(#"{"op":"get","type":"tally"}"#) == before)
    }

    @Test func publishedValuesFollowAndAreNullWhenTheyFail() throws {
        let client = try bus(Unruly.self)
        func state() throws -> JSON? {
            try client.ask(#"{"op":"get","store":"unruly/main"}"#).last?["states"]?["unruly/main"]
        }
        #expect(try state()?["inverse"] == -1.0)
        _ = try client.ask(#"{"op":"dispatch","type":"unruly","action":"divide","payload":{"by":0.5}}"#)
        #expect(try state()?["number"] == 2.0)
        #expect(try state()?["inverse"] == .null)
        // One level more would be too deep for the state, and a value that is derived refuses nothing.
        _ = try client.ask(#"{"op":"dispatch","type":"unruly","action":"nest","payload":{"levels":59}}"#)
        #expect(try state()?["deeper"] == .null)
        #expect(try state()?["deep"] != 0)
    }

    @Test func aNewStoreTakesOnlyWhatTheStateHas() throws {
        let client = try bus(Unruly.self)
        #expect(
            try message(client, #"{"op":"create","store":"unruly/a","state":{"nunber":1}}"#)
                == "unruly has no member nunber; did you mean `number`?")
        #expect(
            try message(client, #"{"op":"create","store":"unruly/a","state":{"text":1}}"#)
                == "unruly can't begin with this state: text: a string is needed, not an integer.")
        // Absent at first, and a member all the same.
        let created = try client.ask(
            #"{"op":"create","store":"unruly/a","state":{"note":"n","number":4,"inverse":"ignored"}}"#)
        #expect(created.last?["ok"] == true)
        let state = try client.ask(#"{"op":"get","store":"unruly/a"}"#).last?["states"]?["unruly/a"]
        #expect(
            state
                == ["deep": 0, "deeper": [0], "inverse": 0.5, "note": "n", "number": 4.0, "text": ""])
    }

    // MARK: Starting

    struct Twin: SharedState {
        var count = 0
        enum Action: String, Codable, Sendable { case go }
        static let typeName = "tally"
        static let actions = ActionList<Twin>(.go)
        struct Mutations: Flux.Mutations {
            func commit(_ action: Twin.Action, to state: inout Twin) {}
        }
    }

    struct Clash: SharedState {
        var count = 0
        enum Action: Codable, Sendable { case go, stop }
        static let actions = ActionList<Clash>(.go, .go)
        static let published: PublishedValues<Clash> = ["count": { $0.count }]
        struct Mutations: Flux.Mutations {
            func commit(_ action: Clash.Action, to state: inout Clash) {}
        }
    }

    @Test(.aloneOnly(because: "It makes no bus."))
    func typesThatCantWorkRefuseTheStartAllAtOnce() throws {
        let failure = try #require(
            #expect(throws: StartFailure.self) {
                try FluxBusDaemon.compile([Tally.self, Clash.self, Twin.self])
            })
        #expect(failure.code == .configuration)
        #expect(failure.messages.count == 3)
        for part in [
            "Clash.actions lists go twice", "both have count", "Tally and Twin are both called tally",
        ] {
            #expect(failure.messages.contains { $0.contains(part) }, "\(part)")
        }
        // Naming one type twice says nothing new.
        #expect(try FluxBusDaemon.compile([Tally.self, Tally.self]).count == 1)
    }

    @Test(.aloneOnly(because: "It makes no bus."))
    func aFileOfTheSameNameIsAnError() throws {
        let natives = try FluxBusDaemon.compile([Tally.self])
        let file = TypeCatalog.File(name: "types/tally.yaml", bytes: Array(Tally.declared.utf8))
        let error = #expect(throws: SourceError.self) { try TypeCatalog([file], beside: natives) }
        #expect(
            error?.description
                == "types/tally.yaml:1:7: This daemon has a type tally of its own; rename this one.")
    }

    @Test func aReloadKeepsCompiledTypes() throws {
        var setup = MemoryBus.Setup()
        setup.natives = try FluxBusDaemon.compile([Tally.self])
        setup.stores = ["tally/main"]
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 0)
        _ = try client.ask(#"{"op":"dispatch","type":"tally","action":"increment","payload":{"by":5}}"#)
        #expect(try client.ask(#"{"op":"reload"}"#).last?["ok"] == true)
        let states = try client.ask(#"{"op":"get","type":"tally"}"#).last?["states"]
        #expect(states?["tally/main"]?["count"] == 5)
    }
}
