import BusEngine
import BusJSON
import BusMachine
import BusProtocol
import TestModes
import TestSupport
import Testing

/// Members that an action makes by names from its payload, so that no definition names them: a definition that has
/// nothing to do with them fits, whatever else it changes.
@Suite(.inBothModes) struct UnnamedMemberTests {
    private static let board = """
        type: board
        initial: { title: none }
        computed: { size: { length: [{ keys: { var: "" } }] } }
        actions:
          put: { payload: { k: string, v: any }, set: { "{payload.k}": { var: payload.v } } }
          take: { payload: { k: string }, unset: ["{payload.k}"] }
        """
    private static let maker =
        #"  put: { payload: { k: string, v: any }, set: { "{payload.k}": { var: payload.v } } }"# + "\n"
    private static let note = "type: note\ninitial: { text: \"\" }"
    private let reload = #"{"op":"reload"}"#

    /// A board with three members that `initial` does not have.
    private func bus(_ definition: String = board) throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("board/a") { $0.definitions = [definition, Self.note] }
        let client = bus.connect(uid: 0)
        for (key, value) in [("ada", "1"), ("b.c", "[2]"), ("", "null")] { try put(key, value, client) }
        return (bus, client)
    }

    private func put(_ key: String, _ value: String, _ client: MemoryClient) throws {
        try client.revision(
            after:
                #"{"op":"dispatch","store":"board/a","action":"put","payload":{"k":"\#(key)","v":\#(value)}}"#
        )
    }

    private func message(_ line: String, _ client: MemoryClient) throws -> String {
        try client.reply(to: line)["error"]?["message"]?.string ?? ""
    }

    @Test(arguments: [
        "summary: What stands on a board.\n" + board,
        board.replacing("title: none", with: "title: none, colour: white"),
        board.replacing("type: board", with: "type: board\nttl: 30d"),
        board.replacing("\n  put:", with: "\n  clear: { set: { title: none } }\n  put:"),
        // The action that made them is gone; they stay.
        board.replacing(maker, with: ""),
        "version: 2\nmigrate: { 1: {} }\n" + board,
        board.replacing("title: none", with: "title: none, ada: 5"),
    ])
    func aDefinitionThatDoesNotNameThemFits(_ definition: String) throws {
        let (bus, client) = try bus()
        let before = try #require(try client.state(of: "board/a")?.object)
        bus.definitions = [definition, Self.note + "\nsummary: A note."]
        let shown = try client.reply(to: #"{"op":"reload","dryRun":true}"#)
        #expect(shown["ok"] == true, "\(shown)")
        try client.revision(after: reload)
        var after = try #require(try client.state(of: "board/a")?.object)
        #expect(after["ada"] == 1 && after["b.c"] == [2] && after[""] == JSON.null)
        if after["colour"] != nil {
            #expect(after["colour"] == "white")
            (after["colour"], after["size"]) = (nil, before["size"])
        }
        #expect(after == before)
        #expect(try bus.isWhatTheLogSays())
        // And so it goes on: what is not named is no part of any definition.
        bus.definitions = [Self.board, Self.note]
        if !definition.contains("version: 2"), !definition.contains("ada: 5"), !definition.contains("colour")
        {
            try client.revision(after: reload)
            #expect(try client.state(of: "board/a") == .object(before))
        }
    }

    /// A patch of the state makes no members, so a store does not begin with others than `initial` has, either.
    @Test(arguments: [
        "patch: { var: payload.with }", "each: { in: [1], as: x, patch: { var: payload.with } }",
    ])
    func aPatchOfTheStateLetsNoOthersIn(_ writes: String) throws {
        let type =
            "type: board\ninitial: { title: none }\nactions: { edit: { payload: { with: object }, \(writes) } }"
        let client = try MemoryBus.logging("board/a") { $0.definitions = [type] }.connect(uid: 0)
        let edit =
            #"{"op":"dispatch","store":"board/a","action":"edit","payload":{"with":{"colour":"red"}}}"#
        #expect(try message(edit, client).contains("colour is in neither initial nor state"))
        let create = #"{"op":"create","store":"board/b","state":{"colour":"red"}}"#
        #expect(try message(create, client).contains("board has no member colour"))
    }

    @Test func anEditedFileDoesNotStopTheStart() throws {
        let (bus, client) = try bus()
        let before = try client.state(of: "board/a")
        bus.definitions = ["summary: What stands on a board.\n" + Self.board, Self.note]
        let next = try bus.crash()
        #expect(try next.connect(uid: 0).state(of: "board/a") == before)
        #expect(try next.isWhatTheLogSays())
    }

    @Test func revertAndCreateTakeWhatGetGives() throws {
        let (bus, client) = try bus()
        let (then, revision) = (try #require(try client.state(of: "board/a")), bus.engine.revision)
        try put("late", "7", client)
        try client.revision(
            after: #"{"op":"dispatch","store":"board/a","action":"take","payload":{"k":"ada"}}"#)
        try client.revision(after: #"{"op":"revert","store":"board/a","revision":\#(revision)}"#)
        #expect(try client.state(of: "board/a") == then)
        try client.revision(after: #"{"op":"create","store":"board/b","state":\#(then.encoded)}"#)
        #expect(try client.state(of: "board/b") == then)
        // A type whose actions make no members refuses a name that is not its own, as before.
        let refusal = try client.reply(to: #"{"op":"create","store":"note/a","state":{"txet":"x"}}"#)
        #expect(refusal["error"]?["code"] == "invalid_request", "\(refusal)")
        #expect(try bus.isWhatTheLogSays())
    }

    /// A key in quotes and braces is one whole key, so one with dots can be moved and taken away, also where only some
    /// stores have it.
    @Test func aKeyWithDotsIsMigratedAway() throws {
        let (bus, client) = try bus()
        try client.revision(after: #"{"op":"create","store":"board/b"}"#)
        bus.definitions = [
            """
            version: 2
            migrate:
              1:
                set: { bc: { val: [state, "b.c"] }, '{"b.c"}': null, '{""}': null }
                unset: ['{"b.c"}', '{""}']
            """ + "\n" + Self.board.replacing("title: none", with: "title: none, bc: null"), Self.note,
        ]
        try client.revision(after: reload)
        #expect(try client.state(of: "board/a") == ["ada": 1, "bc": [2], "size": 3, "title": "none"])
        #expect(try client.state(of: "board/b") == ["bc": .null, "size": 2, "title": "none"])
    }

    /// `state:` says that there are no others, so it has to be brought by a version that takes them away.
    @Test func aDefinitionThatSaysThereAreNoOthersIsRefused() throws {
        let (bus, client) = try bus()
        let closed = Self.board.replacing("initial:", with: "state: { title: string }\ninitial:")
        bus.definitions = [closed, Self.note]
        let refusal = try message(reload, client)
        #expect(refusal.contains("board/a: board has no member ;"), "\(refusal)")
        #expect(refusal.contains("Give the type version: 2 and a step under migrate: 1"), "\(refusal)")
        bus.definitions = [
            """
            version: 2
            migrate: { 1: { unset: [ada, '{"b.c"}', '{""}'] } }
            """ + "\n" + closed, Self.note,
        ]
        try client.revision(after: reload)
        #expect(try client.state(of: "board/a") == ["title": "none", "size": 1])
        let misspelt = #"{"op":"dispatch","store":"board/a","action":"put","payload":{"k":"titel","v":1}}"#
        let error = try client.reply(to: misspelt)["error"]
        #expect(error?["code"] == "rejected" && error?["path"] == "titel", "\(error ?? .null)")
        #expect(
            error?["message"]?.string
                == "board/a refused put: titel is in neither initial nor state; did you mean `title`?")
        try put("title", "\"new\"", client)
        #expect(try client.state(of: "board/a")?["title"] == "new")
    }

    /// A log of the build that took such members has them still: its entries are applied as they were then.
    @Test func aLogThatHasThemIsReplayed() throws {
        let closed = Self.board.replacing("initial:", with: "state: { title: string }\ninitial:")
        let bus = try MemoryBus.logging("board/a") { $0.definitions = [closed, Self.note] }
        let entry =
            #"{"revision":2,"time":1795000000.5,"by":{"uid":0,"pid":1},"actions":[{"store":"board/a","action":"put","payload":{"k":"odd","v":1}}]}"#
        let machine = try bus.past(at: 1)
        try Array((entry + "\n").utf8).withUnsafeBytes { try machine.replay($0) }
        #expect(machine.state(at: "board/a") == ["title": "none", "odd": 1, "size": 2])
        // It does not stand in the way of definitions, and may be taken away.
        let types = try SampleTypes.load(and: ["summary: A board.\n" + closed, Self.note])
        #expect(throws: Never.self) { try machine.redefinition(with: types, access: nil) }
        func apply(_ action: JSON) throws {
            try machine.plan([action])
            _ = try machine.apply(by: .daemon)
            machine.commit()
        }
        #expect(throws: RequestError.self) {
            try apply(["store": "board/a", "action": "put", "payload": ["k": "odd", "v": 2]])
        }
        try apply(["store": "board/a", "action": "take", "payload": ["k": "odd"]])
        #expect(machine.state(at: "board/a") == ["title": "none", "size": 1])
    }
}
