import BusJSON
import TestModes
import TestSupport
import Testing

/// Two buses are asked the same. On one of them a client sends equal dispatches again and again; on the other no line is
/// like one before. Whatever happens to types and stores in between, the answers are the same.
@Suite("Dispatches like those before", .inBothModes) struct FamiliarDispatchTests {
    /// Definitions of one type, whose actions stand at other places, take other payloads or are gone.
    private static let definitions: [[String]] = [
        [
            """
            type: lamp
            initial: { level: 0, note: "" }
            actions:
              dim: { payload: { by: { type: integer, default: 1 } }, increment: { level: { var: payload.by } } }
              mark: { set: { note: marked } }
            """
        ],
        [
            """
            type: lamp
            initial: { level: 0, note: "" }
            actions:
              add: { increment: { level: 100 } }
              dim: { payload: { by: number }, set: { level: { var: payload.by } } }
              late: {}
              mark: { set: { note: again } }
            """
        ],
        [
            """
            type: lamp
            initial: { level: 0, note: "" }
            actions:
              mark: { append: { note: x } }
            """
        ],
        [],
    ]

    private struct Pair {
        let buses: [MemoryBus]
        let clients: [MemoryClient]
        let masters: [MemoryClient]
        var count = 0

        init(logging: Bool) throws {
            buses = try (0..<2).map { _ in
                var setup = MemoryBus.Setup()
                setup.definitions = definitions[0]
                if logging { setup.log = MemoryLog() }
                return try MemoryBus(setup)
            }
            clients = buses.map { $0.connect() }
            masters = buses.map { $0.connect(uid: MemoryBus.ownUID) }
        }

        /// A dispatch: on the first bus like those before, on the other like none. What both said is equal if it is.
        mutating func dispatch(_ body: String) throws -> [[JSON]] {
            count += 1
            let pad =
                String(repeating: " ", count: count % 64) + String(repeating: "\t", count: count / 64 % 64)
            return [
                try clients[0].ask(#"{"op":"dispatch","id":\#(count),\#(body)}"#),
                try clients[1].ask(#"{"op":"dispatch",\#(pad)"id":\#(count),\#(body)}"#),
            ]
        }

        func manage(_ line: String) throws -> [[JSON]] { try masters.map { try $0.ask(line) } }
    }

    private static let dispatches = [
        #""type":"lamp","action":"dim","payload":{"by":2}"#, #""type":"lamp","action":"mark""#,
        #""store":"lamp/a","action":"dim","payload":{"by":2}"#,
        #""store":"lamp/b","action":"mark","payload":{}"#,
        #""store":"lamp/a","action":"dim""#, #""type":"*","action":"mark""#,
    ]

    private static let changes = [
        #"{"op":"create","store":"lamp/a"}"#, #"{"op":"create","store":"lamp/b","state":{"level":5}}"#,
        #"{"op":"create","store":"counter/x"}"#, #"{"op":"drop","store":"lamp/a"}"#,
        #"{"op":"drop","store":"lamp/b"}"#, #"{"op":"drop","store":"counter/x"}"#,
    ]

    @Test(
        .aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."),
        arguments: 0..<6)
    func namesMeanWhatTheyMeanNow(seed: UInt64) throws {
        var random = SeededGenerator(seed: 0xd15b + seed)
        var pair = try Pair(logging: seed % 2 == 1)
        var dispatch = Self.dispatches[0]
        for step in 0..<1_200 {
            var said: [[JSON]]
            switch Int.random(in: 0..<24, using: &random) {
            case 0...3: said = try pair.manage(Self.changes.randomElement(using: &random)!)
            case 4:
                let next = Self.definitions.randomElement(using: &random)!
                for bus in pair.buses { bus.definitions = next }
                said = try pair.manage(#"{"op":"reload"}"#)
            case 5 where seed % 2 == 1:
                // What was dispatched, made or dropped is taken back, and the states of before take its place.
                for bus in pair.buses { bus.disk = .isBusy }
                said = try pair.manage(Self.changes.randomElement(using: &random)!)
                for bus in pair.buses { bus.disk = .fails }
                for bus in pair.buses { bus.disk = .works }
            case 6:
                dispatch = Self.dispatches.randomElement(using: &random)!
                fallthrough
            default: said = try pair.dispatch(dispatch)
            }
            said = try zip(said, pair.manage(#"{"op":"get","match":"*/*"}"#)).map { $0 + $1 }
            guard said[0] == said[1] else {
                Issue.record("Step \(step) with \(dispatch): \(said[0]), not \(said[1])")
                return
            }
        }
    }

    /// The next definition has another action in the same place.
    @Test func actionThatMovedIsFound() throws {
        var pair = try Pair(logging: false)
        _ = try pair.manage(Self.changes[0])
        for _ in 0..<3 { _ = try pair.dispatch(Self.dispatches[0]) }
        for bus in pair.buses { bus.definitions = Self.definitions[1] }
        #expect(try pair.manage(#"{"op":"reload"}"#)[0].first?["ok"] == true)
        _ = try pair.dispatch(Self.dispatches[0])
        let state = try pair.masters[0].ask(#"{"op":"get","store":"lamp/a"}"#)[0]["states"]?["lamp/a"]
        #expect(state?["level"] == 2)
    }

    /// A store of another name took the place of one that is gone.
    @Test func storeThatTookAPlaceIsNotMistaken() throws {
        var pair = try Pair(logging: false)
        _ = try pair.manage(Self.changes[0])
        for _ in 0..<3 { _ = try pair.dispatch(Self.dispatches[2]) }
        _ = try pair.manage(Self.changes[3])
        _ = try pair.manage(Self.changes[1])
        let refused = try pair.dispatch(Self.dispatches[2])[0]
        #expect(refused.first?["error"]?["code"] == "unknown_store")
        let state = try pair.masters[0].ask(#"{"op":"get","store":"lamp/b"}"#)[0]["states"]?["lamp/b"]
        #expect(state?["level"] == 5)
    }
}
