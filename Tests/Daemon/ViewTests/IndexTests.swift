import BusEngine
import BusJSON
import BusLogic
import BusMachine
import TestModes
import TestSupport
import Testing

/// A bus with indexes answers as one without them does, whatever happens to both.
@Suite(.inBothModes) struct IndexTests {
    private static func room(_ index: String) -> String {
        """
        type: room
        \(index)
        state:
          floor: { type: any, default: ground }
          mode: { type: any, default: auto }
          other: { type: integer, default: 0 }
        computed: { isOdd: other % 2 == 1 }
        actions:
          put: { payload: { floor: any?, mode: any? }, patch: = payload }
          poke: { increment: { other: 1 } }
        """
    }

    private static func bus(_ index: String) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.log = MemoryLog()
        setup.definitions = [room(index)]
        return try MemoryBus(setup)
    }

    private static func value(_ generator: inout SeededGenerator) -> JSON {
        ([
            "ground", "attic", "\u{e9}", "e\u{301}", 3, .double(3), .double(3.5), .double(-0.0), 0, true,
            .null,
            [1], .int(.max), .double(9_223_372_036_854_775_808), .string(String(repeating: "x", count: 129)),
        ] as [JSON]).randomElement(using: &generator)!
    }

    private static func condition(_ generator: inout SeededGenerator) -> JSON {
        let (sought, another) = (value(&generator), value(&generator))
        let (value, other) = (sought.encoded, another.encoded)
        let text = [
            "floor == \(value)", "\(value) == state.floor", "floor in [\(value), \(other)]",
            "mode == \(other) && floor == \(value)", "(other > 1 && isOdd) && floor in [\(value)]",
            "isOdd == true", "state.floor == \(value)",
            "floor == \(value) || mode == \(other)", "floor != \(value)", "!(floor == \(value))",
            "floor == \(value) ? true : mode == \(other)", "floor == mode", "floor in []",
        ].randomElement(using: &generator)!
        if generator.oneIn(6) {
            return ["and": [["===": [["var": "floor"], sought]], ["var": "isOdd"]]]
        }
        return .string(text)
    }

    private static func request(_ generator: inout SeededGenerator) -> String {
        let address = "room/\("abcdefghijklmnopqrst".randomElement(using: &generator)!)"
        let payload = ["floor", "mode"].randomElement(using: &generator)!
        let state = #"{"\#(payload)":\#(value(&generator).encoded)}"#
        let condition = condition(&generator).encoded
        switch Int.random(in: 0..<18, using: &generator) {
        case 0...2: return #"{"op":"create","store":"\#(address)","state":\#(state)}"#
        case 3: return #"{"op":"drop","store":"\#(address)"}"#
        case 4...5: return #"{"op":"dispatch","store":"\#(address)","action":"put","payload":\#(state)}"#
        case 6: return #"{"op":"dispatch","store":"\#(address)","action":"poke"}"#
        case 7...8:
            return
                #"{"op":"dispatch","type":"room","action":"put","payload":\#(state),"where":\#(condition)}"#
        case 9:
            return
                #"{"op":"dispatch","actions":[{"store":"\#(address)","action":"put","payload":\#(state)},{"type":"room","action":"poke","where":\#(condition)}]}"#
        case 10:
            return
                #"{"op":"dispatch","actions":[{"op":"create","store":"\#(address)","ifMissing":true},{"type":"room","action":"poke","where":\#(condition)}]}"#
        case 11:
            let limit = [1, 3, 100].randomElement(using: &generator)!
            return
                #"{"op":"stores","match":"room/*","where":\#(condition),"after":"\#(address)","limit":\#(limit)}"#
        case 13 where generator.oneIn(8): return #"{"op":"drop","type":"room","where":\#(condition)}"#
        case 14:
            return
                #"{"op":"revert","store":"\#(address)","revision":\#(Int.random(in: 1...200, using: &generator))}"#
        case 12:
            let pattern = generator.oneIn(2) ? "*/[a-k]" : "\(address)*"
            return #"{"op":"get","match":"\#(pattern)","where":\#(condition)}"#
        default:
            let limit = [1, 3, 100].randomElement(using: &generator)!
            return #"{"op":"get","type":"room","where":\#(condition),"limit":\#(limit)}"#
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func whatIsFoundIsTheSame(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let index = ["index: [floor, isOdd]", "index: floor", "index: [mode, floor]"][Int(seed) % 3]
        var buses = [try Self.bus(""), try Self.bus(index)]
        var found = 0
        for number in 0..<1200 {
            if number % 150 == 149 {
                // A bus that comes back makes the indexes again, from its log or from a snapshot.
                buses = try buses.map { bus in
                    if number % 300 == 299 {
                        bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
                    }
                    return try bus.crash()
                }
            }
            let line = Self.request(&generator)
            let replies = try buses.map { try $0.connect(uid: 0).ask(line) }
            #expect(replies[0] == replies[1], "\(line)")
            if replies[0] != replies[1] { return }
            found += replies[0].last?["states"]?.object?.count ?? 0
            #expect(buses[0].engine.stateDigest == buses[1].engine.stateDigest)
        }
        #expect(found > 150)
    }

    /// What is called `state` is a member of that name first, also of one that an action makes.
    @Test(arguments: [
        "initial: { floor: ground, state: { floor: attic } }\nactions: { rest: {} }",
        "initial: { floor: ground }\nactions: { put: { payload: { k: string }, set: { '{payload.k}': 1 } } }",
    ])
    func aMemberCalledStateIsRead(_ rest: String) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [
            """
            type: room
            index: floor
            \(rest)
            """
        ]
        let client = try MemoryBus(setup).connect(uid: 0)
        try client.ask(#"{"op":"create","store":"room/a","state":{"state":{"floor":"attic"}}}"#)
        for (floor, count) in [("attic", 1), ("ground", 0)] {
            let reply = try client.ask(#"{"op":"get","type":"room","where":"state.floor == '\#(floor)'"}"#)
            #expect(reply.last?["states"]?.object?.count == count)
        }
    }

    @Test func aValueThatNoStoreHasTakesNoMemory() throws {
        let bus = try Self.bus("index: floor")
        let client = bus.connect(uid: 0)
        func memory() throws -> Int? {
            try client.ask(#"{"op":"stats"}"#).last?["stats"]?["memory"]?["views"]?.int
        }
        #expect(try memory() == 0)
        try client.ask(#"{"op":"create","store":"room/a","state":{"floor":"attic"}}"#)
        let one = try memory()
        #expect(one == BusLimits.indexedStore + BusLimits.indexedValue)
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"put","payload":{"floor":"cellar"}}"#)
        #expect(try memory() == one)
        // The longest text that an index has is of 128 bytes.
        for (length, memoryOfIt) in [(129, 0), (128, one)] {
            let text = String(repeating: "x", count: length)
            try client.ask(
                #"{"op":"dispatch","store":"room/a","action":"put","payload":{"floor":"\#(text)"}}"#)
            #expect(try memory() == memoryOfIt)
        }
        try client.ask(#"{"op":"drop","store":"room/a"}"#)
        #expect(try memory() == 0)
    }

    @Test func aReloadGivesStoresAnIndexAndTakesItAway() throws {
        let bus = try Self.bus("")
        let client = bus.connect(uid: 0)
        for (name, floor) in [("a", "attic"), ("b", "ground"), ("c", "attic")] {
            try client.ask(#"{"op":"create","store":"room/\#(name)","state":{"floor":"\#(floor)"}}"#)
        }
        let question = #"{"op":"get","type":"room","where":"floor == 'attic'","select":["/floor"]}"#
        let before = try client.ask(question).last?["states"]
        for (index, count) in [("index: floor", 1), ("index: [mode, floor]", 2), ("", 0)] {
            bus.definitions = [Self.room(index)]
            #expect(try client.ask(#"{"op":"reload"}"#).last?["ok"] == true)
            #expect(try client.ask(question).last?["states"] == before)
            let stats = try client.ask(#"{"op":"stats"}"#).last?["stats"]
            #expect(stats?["indexes"]?.int == count)
            #expect((stats?["memory"]?["views"]?.int ?? 0 > 0) == (count > 0))
        }
    }
}

struct MemberEqualityTests {
    @Test(arguments: [
        ("floor == 'attic'", ["floor=\"attic\""]), ("'attic' == state.floor", ["floor=\"attic\""]),
        ("floor in ['attic', 3]", ["floor=\"attic\",3"]), ("floor == 1 + 2", ["floor=3"]),
        ("a == 1 && (b == 2 && c > 3)", ["a=1", "b=2"]), ("a == 1 || b == 2", []), ("a != 1", []),
        ("!(a == 1)", []),
        ("a.b == 1", []), ("a == b", []), ("[1].exists(x, x == 1) && a == 1", ["a=1"]),
        ("store == 'room/a'", []), ("meta.revision == 1", []), ("a == 1 ? b == 2 : false", []),
    ])
    func whatAConditionDemandsOfMembers(_ text: String, _ expected: [String]) throws {
        let expression = try Expression.compile(condition: .string(text), name: "where")
        let found = expression.equalities.map { equality in
            "\(equality.member)=\(equality.values.map(\.encoded).joined(separator: ","))"
        }
        #expect(found == expected)
    }

    @Test func looseEqualityDemandsNothing() throws {
        let loose = try Expression.compile(condition: ["==": [["var": "a"], 1]], name: "where")
        #expect(loose.equalities.isEmpty)
        let strict = try Expression.compile(condition: ["===": [["var": "a"], 1]], name: "where")
        #expect(strict.equalities.map(\.member) == ["a"])
    }
}
