import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// A commit's only change is written straight to whoever is told of it, where that is one subscription or many alike; other
/// changes, and other subscribers, are told by way of items. Nobody may see which way it was.
@Suite(.inBothModes) struct ToldAtOnceTests {
    /// New members, whose names the payload has.
    private static let manyNames = (0..<20).map { "k\(10 + $0): { type: string, default: m\(10 + $0) }" }
        .joined(separator: ", ")
    /// More members than are looked at one by one, the last one first.
    private static let manyMembers = (0..<20).reversed().map {
        "'{payload.k\(10 + $0)}': { var: state.number }"
    }
    .joined(separator: ", ")

    /// A type whose actions write a member each, of whatever value, or several.
    private static let mixed = """
        type: mixed
        initial: { any: 1, list: [], object: { a: 1 }, number: 0, "a \\"key\\" to be escaped, and long": true }
        actions:
          set: { payload: { to: any }, set: { any: { var: payload.to } } }
          unset: { unset: [any] }
          append: { payload: { to: any }, append: { list: { var: payload.to } } }
          merge: { payload: { to: object }, merge: { object: { var: payload.to } } }
          deep: { payload: { to: any }, set: { object.a: { var: payload.to } } }
          increment: { payload: { by: integer }, increment: { number: { var: payload.by } } }
          toggle: { toggle: ['a "key" to be escaped, and long'] }
          both: { payload: { to: any }, set: { any: { var: payload.to } }, increment: { number: 1 } }
          twice: { payload: { by: integer }, set: { number: { var: payload.by } }, increment: { number: 1 } }
          moved: { unset: [any], set: { list: [{ var: state.any }] }, toggle: ['a "key" to be escaped, and long'] }
          aside: { set: { any: { var: state.any }, number: { "+": [{ var: state.number }, 1] } } }
          backwards: { set: { number: 5 }, toggle: ['a "key" to be escaped, and long'] }
          again: { payload: { to: any }, set: { number: 5, any: { var: payload.to } }, increment: { number: 1 } }
          many: { payload: { \(Self.manyNames) }, set: { \(Self.manyMembers) } }
        """

    private func bus(line: Int, outbox: Int = 4 << 20) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.line = line
        setup.limits.daemon.outbox = outbox
        setup.definitions = [Self.mixed]
        setup.stores = ["mixed/a", "mixed/a-name-that-fits-into-no-word", "counter/a"]
        return try MemoryBus(setup)
    }

    /// Requests that change one store or several, little or much or nothing, or are refused.
    private func request(_ random: inout SeededGenerator) -> String {
        let store = ["mixed/a", "mixed/a-name-that-fits-into-no-word", "mixed/b"].randomElement(
            using: &random)!
        let target = Int.random(in: 0..<4, using: &random) == 0 ? #""type":"mixed""# : #""store":"\#(store)""#
        let text = String(repeating: "long ", count: Int.random(in: 0..<500, using: &random))
        let values = [
            "1", "-70000000000", "true", "null", "2.5", "[1,2]", "{\"b\":null}",
            "{\"c\":{\"d\":1}}",
            "\"\\n\"", "\"\(text)\"",
        ]
        let value = values.randomElement(using: &random)!
        let integer = [0, 1, -1, 99_999_999, -99_999_999, 12_345_678_901].randomElement(using: &random)!
        let actions = [
            #""action":"set","payload":{"to":\#(value)}"#, #""action":"unset""#,
            #""action":"append","payload":{"to":\#(value)}"#, #""action":"toggle""#,
            #""action":"merge","payload":{"to":{"a":\#(value)}}"#,
            #""action":"deep","payload":{"to":\#(value)}"#,
            #""action":"increment","payload":{"by":\#(integer)}"#,
            #""action":"both","payload":{"to":\#(value)}"#, #""action":"moved""#, #""action":"aside""#,
            #""action":"twice","payload":{"by":\#(integer)}"#, #""action":"many""#,
            #""action":"again","payload":{"to":\#(value)}"#,
        ]
        let action = actions.randomElement(using: &random)!
        return switch Int.random(in: 0..<20, using: &random) {
        case 0: #"{"op":"create","store":"mixed/b"}"#
        case 1: #"{"op":"drop","store":"mixed/b"}"#
        case 2:
            #"{"op":"dispatch","actions":[{\#(target),\#(action)},{\#(target),\#(actions.randomElement(using: &random)!)}]}"#
        default: #"{"op":"dispatch",\#(target),\#(action)}"#
        }
    }

    private func lines(_ client: MemoryClient) -> [String] {
        var lines: [String] = []
        while let line = client.nextLine() { lines.append(line) }
        return lines
    }

    @Test(arguments: 0..<6)
    func whoIsToldAtOnceIsToldTheSame(seed: UInt64) throws {
        // The smaller line makes events of several parts, and states in place of changes.
        let bus = try bus(line: seed.isMultiple(of: 2) ? 1 << 20 : 2000)
        let (client, alone, several) = (bus.connect(uid: 0), bus.connect(), bus.connect())
        let pair = [bus.connect(), bus.connect()]
        // Patterns that are not the same, so that nobody shares another's shape by chance.
        try alone.ask(#"{"op":"subscribe","match":"m*/*","initial":false}"#)
        try several.ask(#"{"op":"subscribe","match":"mi*/*","initial":false}"#)
        try several.ask(#"{"op":"subscribe","store":"counter/a","initial":false}"#)
        for watcher in pair { try watcher.ask(#"{"op":"subscribe","match":"mix*/*","initial":false}"#) }
        var random = SeededGenerator(seed: seed)
        var events = 0
        for turn in 0..<60 {
            // What arrives together is one turn: of the second commit on, those who are alike are told together.
            let requests = (0..<10).map { _ in request(&random) }
            client.send(bytes: Array(requests.joined(separator: "\n").utf8) + [10])
            _ = try client.all()
            let expected = lines(several)
            events += expected.count
            try #require(lines(alone) == expected, "turn \(turn)")
            for watcher in pair { try #require(lines(watcher) == expected, "turn \(turn)") }
        }
        #expect(events > 200)
    }

    /// What is told leads to the states that are there, and holds no member that stayed as it was.
    @Test(arguments: 0..<4)
    func whatIsToldIsWhatChanged(seed: UInt64) throws {
        let bus = try bus(line: 1 << 20)
        let (client, watcher) = (bus.connect(uid: 0), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(#"{"op":"subscribe","type":"mixed"}"#))
        var random = SeededGenerator(seed: seed &+ 100)
        for step in 0..<300 {
            client.send(request(&random))
            let reply = try client.all().last
            let before = mirror.states
            let events = try watcher.all()
            try mirror.take(events)
            #expect(events.count == ((reply?["changed"]?.int ?? reply?["revision"]?.int ?? 0) > 0 ? 1 : 0))
            for change in events.first?["changes"]?.object ?? [:] {
                for member in change.value.object ?? [:] {
                    let (old, new) = (before[change.key]?[member.key], mirror.states[change.key]?[member.key])
                    #expect(old != new, "step \(step): \(member.key) of \(change.key)")
                }
            }
            client.send(#"{"op":"get","type":"mixed"}"#)
            let truth = try client.all().last?["states"]?.object ?? [:]
            let held = JSONObject(distinct: mirror.states.map { .init(key: $0.key, value: $0.value) })
            try #require(held == truth, "step \(step)")
        }
    }

    /// Where a connection has several subscriptions, what could be told at once waits for its turn.
    @Test func subscriptionsOfOneConnectionAreToldInTheirOrder() throws {
        let bus = try bus(line: 1 << 20)
        let (client, watcher) = (bus.connect(), bus.connect())
        for format in ["state", "merge", "patch"] {
            try watcher.ask(
                #"{"op":"subscribe","store":"mixed/a","initial":false,"format":"\#(format)"}"#)
        }
        for _ in 0..<3 { try client.ask(#"{"op":"dispatch","store":"mixed/a","action":"toggle"}"#) }
        #expect(try watcher.all().map { $0["sub"]?.int } == [1, 2, 3, 1, 2, 3, 1, 2, 3])
    }

    /// A commit that changes one store and drops another is one event, though only one store is written to.
    @Test func aChangeAndADropAreOneEvent() throws {
        let bus = try bus(line: 1 << 20)
        let (client, watcher) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"create","store":"mixed/mine","ephemeral":true}"#)
        try client.ask(#"{"op":"will","actions":[{"store":"mixed/a","action":"unset"}]}"#)
        try watcher.ask(#"{"op":"subscribe","type":"mixed","initial":false}"#)
        client.close()
        let events = try watcher.all()
        #expect(events.count == 1)
        #expect(events.first?["changes"] == ["mixed/a": ["any": .null]])
        #expect(events.first?["dropped"] == ["mixed/mine"])
    }

    /// From one object to another, a merge patch removes every member by name: it may be longer than both, and than a line.
    @Test func aPatchThatNoLineHoldsComesAsTheState() throws {
        let bus = try bus(line: 2000)
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"mixed","initial":false}"#)
        for first in [10, 30] {
            let members = (0..<110).map {
                "\"\(first + $0 / 10)\(Character(UnicodeScalar(UInt8(97 + $0 % 10))))\":1"
            }
            let object = "{\(members.joined(separator: ","))}"
            try client.ask(
                #"{"op":"dispatch","store":"mixed/a","action":"set","payload":{"to":\#(object)}}"#)
        }
        let lines = lines(watcher)
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.utf8.count <= 2000 })
        #expect(lines.first?.contains("\"changes\"") == true)
        #expect(lines.last?.contains("\"states\"") == true)
    }

    /// However they were written, members stand in the order of their keys.
    @Test func membersStandInOrder() throws {
        let bus = try bus(line: 1 << 20)
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"mixed","initial":false}"#)
        try client.ask(#"{"op":"dispatch","store":"mixed/a","action":"backwards"}"#)
        let line = try #require(lines(watcher).first)
        #expect(line.hasSuffix(#"{"mixed/a":{"a \"key\" to be escaped, and long":false,"number":5}}}"#))
    }

    @Test func aWriteOfWhatStandsThereIsNoChange() throws {
        let bus = try bus(line: 1 << 20)
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"mixed","initial":false}"#)
        for value in ["2", "2.0", "\"2\"", "null", "[2,\"a text of more than 15 bytes\"]", "{\"a\":2}"] {
            for change in [1, 0] {
                let replies = try client.ask(
                    #"{"op":"dispatch","store":"mixed/a","action":"set","payload":{"to":\#(value)}}"#)
                #expect(replies.last?["changed"]?.int == change, "\(value)")
                #expect(try watcher.all().count == change, "\(value)")
            }
        }
    }

    /// What is told at once counts as told: the next bookmark is a thousand commits away.
    @Test(arguments: [1, 2])
    func whoIsToldAtOnceIsNotReminded(watchers: Int) throws {
        let bus = try bus(line: 1 << 20)
        let client = bus.connect()
        let watchers = (0..<watchers).map { _ in bus.connect() }
        for watcher in watchers { try watcher.ask(#"{"op":"subscribe","type":"mixed","initial":false}"#) }
        let start = bus.engine.revision
        func burst(_ target: String, _ action: String, _ count: Int) throws {
            let line = #"{"op":"dispatch","store":"\#(target)",\#(action)}"# + "\n"
            client.send(bytes: Array(String(repeating: line, count: count).utf8))
            _ = try client.all()
        }
        try burst("counter/a", #""action":"increment""#, 500)
        try burst("mixed/a", #""action":"toggle""#, 2)
        try burst("counter/a", #""action":"increment""#, 999)
        for watcher in watchers {
            #expect(try watcher.all().map { $0["revision"]?.int } == [start + 501, start + 502])
        }
        bus.advance(milliseconds: 100)
        try burst("counter/a", #""action":"increment""#, 1)
        for watcher in watchers {
            #expect(try watcher.all() == [["event": "bookmark", "sub": 1, "revision": .int(start + 1502)]])
        }
    }

    /// Its own bytes and those that it shares with others leave in the order in which they were written, however few at a
    /// time are taken.
    @Test(arguments: [1, 7, 100, 5000])
    func ownAndSharedBytesLeaveInOrder(taken: Int) throws {
        let bus = try bus(line: 1 << 20)
        let engine = bus.engine
        let watchers = [bus.connect(), bus.connect()]
        for watcher in watchers { try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#) }
        let watcher = watchers[0]
        watcher.isReading = false
        let dispatch = #"{"op":"dispatch","type":"counter","action":"increment"}"# + "\n"
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 2)
        defer { pieces.deallocate() }
        var bytes: [UInt8] = []
        func take() -> Bool {
            let filled = engine.output(of: watcher.connection, into: pieces)
            var count = 0
            for piece in pieces.prefix(filled) {
                let part = UnsafeRawBufferPointer(start: piece.base, count: piece.count).prefix(taken - count)
                bytes.append(contentsOf: part)
                count += part.count
            }
            engine.sent(watcher.connection, count)
            return count > 0
        }
        for _ in 0..<20 {
            // Its own requests are answered in its own bytes, among events for both.
            watcher.send(bytes: Array((dispatch + #"{"op":"ping"}"# + "\n" + dispatch).utf8))
            _ = take()
        }
        while take() {}
        let answers = try bytes.split(separator: 10).map { try JSON(parsing: Array($0)) }
        #expect(answers.count == 20 * 5)
        let revisions = answers.compactMap { $0["revision"]?.int }
        #expect(revisions == (0..<40).flatMap { [revisions[0] + $0, revisions[0] + $0] })
        for group in 0..<20 {
            let isEvent = answers[group * 5..<group * 5 + 5].map { $0["event"] != nil }
            #expect(isEvent == [true, false, false, true, false])
        }
    }
}
