import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What becomes of subscriptions with `where` when something else happens: others share their expression, their search is
/// not done, their client is slow, or what they follow is taken back.
@Suite(.inBothModes) struct FilteredDeliveryTests {
    private func bus(
        _ stores: [String] = ["counter/a", "counter/b"], change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> (MemoryBus, MemoryClient, MemoryClient) {
        let bus = try MemoryBus.logging {
            $0.stores = stores
            change(&$0)
        }
        return (bus, bus.connect(uid: 0), bus.connect())
    }

    private static func subscribe(_ condition: String, _ more: String = "") -> String {
        #"{"op":"subscribe","match":"counter/*","where":"\#(condition)"\#(more)}"#
    }

    private static func add(_ store: String, _ count: Int = 1) -> String {
        #"{"op":"dispatch","store":"counter/\#(store)","action":"increment","payload":{"by":\#(count)}}"#
    }

    private static let addToAll = #"{"op":"dispatch","type":"counter","action":"increment"}"#

    // MARK: What an expression reads

    private static let box = """
        type: box
        initial: { m: {}, list: [1], n: 0, isOpen: true }
        actions:
          put: { payload: { to: integer }, set: { 'm.{"a"}': { var: payload.to } } }
          push: { append: { list: 2 } }
          poke: { set: { list.0: 9 } }
          add: { increment: { n: 2 } }
        """

    @Test(
        arguments: [
            ("add", #"{"==":[{"var":{"if":[{"var":"isOpen"},"n","none"]}},2]}"#),
            ("add", #"{"==":[{"val":[{"if":[{"var":"isOpen"},"n","none"]}]},2]}"#),
            ("add", #"{"some":[[2],{"==":[{"var":""},{"val":[[2],"n"]}]}]}"#),
            ("add", #""state == {'m': {}, 'list': [1], 'n': 2, 'isOpen': true}""#),
            ("add", #""[2].exists(x, state.n == x)""#),
            ("put", #"{"!":[{"missing":["m.a"]}]}"#), ("put", #""has(state.m.a)""#),
            ("push", #""size(list) > 1""#), ("poke", #""list[0] == 9""#),
        ])
    func whatItReadsMovesAStore(_ action: String, _ condition: String) throws {
        let (_, client, watcher) = try bus(["box/x"]) { $0.definitions = [Self.box] }
        let first = try watcher.ask(#"{"op":"subscribe","type":"box","where":\#(condition)}"#)
        #expect(first.last?["states"] == [:], "\(first)")
        let payload = action == "put" ? #","payload":{"to":1}"# : ""
        try client.revision(
            after: #"{"op":"dispatch","store":"box/x","action":"\#(action)"\#(payload)}"#)
        #expect(try watcher.all().map { $0["states"]?.object?.keys } == [["box/x"]])
    }

    /// One commit may write to a store more than once.
    @Test func whatABatchWritesInTurnsMovesAStore() throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("count > 1"))
        let actions = ["a", "b", "a"].map { #"{"store":"counter/\#($0)","action":"increment"}"# }
        try client.revision(after: #"{"op":"dispatch","actions":[\#(actions.joined(separator: ","))]}"#)
        #expect(try watcher.all().map { $0["states"]?.object?.keys } == [["counter/a"]])
    }

    @Test func onlyNamesOfThePatternAreMeant() throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(#"{"op":"subscribe","match":"counter/a*","where":"count > 1"}"#)
        try client.increment("counter/b", by: 5)
        try client.revision(after: #"{"op":"create","store":"counter/c","state":{"count":5}}"#)
        try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(try watcher.all() == [])
        try client.revision(after: #"{"op":"create","store":"counter/ab","state":{"count":5}}"#)
        #expect(try watcher.all().map { $0["states"]?.object?.keys } == [["counter/ab"]])
    }

    // MARK: Others

    /// Groups with one expression share its evaluation.
    @Test func aSubscriptionThatEndsTakesNothingFromOthers() throws {
        let (bus, client, watcher) = try bus()
        let other = bus.connect()
        try other.ask(Self.subscribe("count > 1"))
        try watcher.ask(Self.subscribe("count > 1", #","select":["/count"]"#))
        try other.ask(#"{"op":"unsubscribe","sub":1}"#)
        try client.increment("counter/a", by: 5)
        #expect(try watcher.all().map { $0["states"] } == [["counter/a": ["count": 5]]])
        #expect(bus.engine.miscounts.isEmpty)
    }

    @Test func aTypeThatComesLaterIsFollowed() throws {
        let (bus, client, watcher) = try bus()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","where":"n == 2"}"#)
        bus.definitions = [Self.box]
        try client.ask(#"{"op":"reload"}"#)
        try client.revision(after: #"{"op":"create","store":"box/x"}"#)
        #expect(try watcher.events("change") == [])
        try client.revision(after: #"{"op":"dispatch","store":"box/x","action":"add"}"#)
        #expect(try watcher.events("change").map { $0["states"]?.object?.keys } == [["box/x"]])
    }

    // MARK: Late

    @Test func whoIsInTimeTakesNothingFromWhoIsLate() throws {
        let (bus, client, quick) = try bus { $0.limits.daemon.outbox = 400 }
        let slow = bus.connect()
        try client.increment("counter/a", by: 2)
        var mirror = ContractMirror()
        try mirror.take(slow.ask(Self.subscribe("count > 1")))
        try quick.ask(Self.subscribe("count > 1"))
        (slow.isReading, quick.isReading) = (false, false)
        for _ in 0..<40 { try client.increment("counter/a") }
        try client.revision(after: Self.add("a", -100))
        quick.isReading = true
        _ = try quick.all()
        slow.isReading = true
        let lines = try slow.all()
        #expect(lines.contains { $0["coalesced"] != nil })
        #expect(!lines.contains { $0["reset"] == true })
        try mirror.take(lines)
        #expect(mirror.states.isEmpty)
    }

    /// Where nobody is late nobody needs to know what has left.
    @Test func whatHasLeftIsRememberedForWhoIsLate() throws {
        let (_, client, watcher) = try bus()
        func memory() throws -> JSON? {
            try client.reply(to: #"{"op":"stats"}"#)["stats"]?["memory"]?["subscriptions"]
        }
        try watcher.ask(Self.subscribe("isEven"))
        func leaveAndEnter() throws { for _ in 0..<2 { try client.increment() } }
        try leaveAndEnter()
        let before = try #require(try memory())
        for _ in 0..<20 { try leaveAndEnter() }
        #expect(try memory() == before)
    }

    /// So many have left that not all are remembered: it starts over.
    @Test func whoHasMissedTooManyDeparturesBeginsAnew() throws {
        let (_, client, watcher) = try bus { $0.limits.daemon.outbox = 400 }
        for number in 0..<1700 { client.queue(#"{"op":"create","store":"counter/n\#(number)"}"#) }
        client.send(Line.ping)
        _ = try client.all()
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(Self.subscribe("count < 3")))
        #expect(mirror.states.count == 1702)
        watcher.isReading = false
        for _ in 0..<40 { try client.increment("counter/a", by: 0) }
        for _ in 0..<3 { try client.revision(after: Self.addToAll) }
        try client.revision(after: #"{"op":"create","store":"counter/x"}"#)
        watcher.isReading = true
        let lines = try watcher.all()
        #expect(lines.contains { $0["reset"] == true })
        try mirror.take(lines)
        #expect(Array(mirror.states.keys) == ["counter/x"])
    }

    /// The search for its stores takes many slices, and the set changes meanwhile.
    @Test(arguments: 0..<6) func aSetThatChangesWhileItIsSearchedForIsExact(_ seed: Int) throws {
        let (bus, client, watcher) = try bus { $0.limits.daemon.sliceWork = 300 }
        for number in 0..<60 { try client.ask(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        var random = SeededGenerator(seed: UInt64(seed))
        for round in 0..<20 {
            // One expression for each round: a group that is there already has found its stores.
            let condition = "isEven || count == \(1001 + 2 * round)"
            let revision = bus.engine.revision
            let states = try client.reply(
                to: #"{"op":"get","match":"counter/*","where":"\#(condition)"}"#)["states"]
            var mirror = ContractMirror(
                states: states?.object?.reduce(into: [:]) { $0[$1.key] = $1.value } ?? [:],
                revision: revision)
            watcher.queue(Self.subscribe(condition, #","since":\#(revision),"epoch":"\#(bus.epoch)""#))
            for _ in 0..<30 {
                let name = "s\(Int.random(in: 0..<60, using: &random))"
                client.queue(
                    [
                        Self.add(name), #"{"op":"drop","store":"counter/\#(name)"}"#,
                        #"{"op":"create","store":"counter/\#(name)"}"#,
                    ].randomElement(using: &random)!)
            }
            client.send(Line.ping)
            _ = try client.all()
            try mirror.take(watcher.all())
            let truth = try client.reply(
                to: #"{"op":"get","match":"counter/*","where":"\#(condition)"}"#)["states"]?.object
            let held = JSONObject(distinct: mirror.states.map { .init(key: $0.key, value: $0.value) })
            try #require(held == truth ?? [:], "round \(round)")
            try watcher.ask(#"{"op":"unsubscribe","sub":\#(round + 1)}"#)
        }
        #expect(bus.engine.miscounts.isEmpty)
    }

    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func whatIsTakenBackIsTakenBackFromTheSet() throws {
        let (bus, client, watcher) = try bus()
        try client.increment("counter/b", by: 2)
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(Self.subscribe("count > 1")))
        bus.disk = .isBusy
        client.send(Self.add("a", 2))
        client.send(Self.add("b", -2))
        bus.disk = .fails
        bus.disk = .works
        _ = try client.all()
        try mirror.take(watcher.all())
        #expect(Array(mirror.states.keys) == ["counter/b"])
        try client.increment("counter/b")
        try client.increment("counter/a", by: 2)
        let told = try watcher.all()
        #expect(told.map { $0["changes"]?.object?.keys } == [["counter/b"], nil])
        #expect(told.last?["states"]?.object?.keys == ["counter/a"])
        #expect(bus.engine.miscounts.isEmpty)
    }

    // MARK: Actions

    @Test func anActionOnATypeIsToldWhereTheSetHasAStoreOfIt() throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("count > 2", #","actions":true"#))
        func isTold(_ line: String) throws -> Bool {
            try client.revision(after: line)
            return try !watcher.events("action").isEmpty
        }
        #expect(try !isTold(Self.addToAll))
        #expect(try isTold(Self.add("a", 5)))
        #expect(try isTold(Self.addToAll))
        #expect(try isTold(Self.add("a", -9)))
        #expect(try !isTold(Self.add("a", 0)))
        #expect(try !isTold(#"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":0}}"#))
        #expect(try isTold(Self.add("b", 5)))
        try client.revision(after: #"{"op":"drop","store":"counter/b"}"#)
        #expect(try !isTold(#"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":0}}"#))
    }

    /// Each of these stores is in the set before its action, or after it.
    @Test func actionsAreToldWhileTheSetIsSearchedFor() throws {
        let (bus, client, watcher) = try bus { $0.limits.daemon.sliceWork = 300 }
        for number in 0..<200 { try client.ask(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        watcher.queue(Self.subscribe("isEven", #","actions":true"#))
        for number in 0..<100 { client.queue(Self.add("s\(199 - number)")) }
        for _ in 0..<20 { client.queue(Self.addToAll) }
        client.send(Line.ping)
        let lines = try watcher.all()
        let begun = try #require(lines.first?["revision"]?.int)
        let told = lines.filter { $0["event"] == "action" }.compactMap { $0["revision"]?.int }
        #expect(told == Array(begun + 1..<bus.engine.revision + 1))
    }

    /// The one store that is in the set is the last to be found.
    @Test func anActionOnATypeIsToldBeforeItsStoreIsFound() throws {
        let (bus, client, watcher) = try bus { $0.limits.daemon.sliceWork = 300 }
        for number in 0..<200 { try client.ask(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        try client.ask(#"{"op":"create","store":"counter/z"}"#)
        watcher.queue(Self.subscribe("store == 'counter/z'", #","actions":true"#))
        let other = bus.connect()
        for _ in 0..<20 { other.queue(Self.addToAll) }
        other.send(Line.ping)
        let lines = try watcher.all()
        let begun = try #require(lines.first?["revision"]?.int)
        let told = lines.filter { $0["event"] == "action" }.compactMap { $0["revision"]?.int }
        #expect(told == Array(begun + 1..<bus.engine.revision + 1) && told.count > 10)
    }

    /// What the stores were like when an action came is not known later, so a slow reader's actions wait for it.
    @Test func aSlowReaderGetsAllActions() throws {
        let (_, client, watcher) = try bus { $0.limits.daemon.outbox = 400 }
        try watcher.ask(Self.subscribe("count < 20", #","actions":true"#))
        watcher.isReading = false
        for _ in 0..<40 { try client.increment("counter/a") }
        watcher.isReading = true
        let lines = try watcher.all().filter { $0["event"] != "bookmark" }
        #expect(lines.map { $0["event"] } == Array(repeating: "action", count: 20))
    }

    /// Its connection's other actions come from the log, which does not tell what stores were like.
    @Test func whereTheLogGoesOnThereIsAGap() throws {
        let (_, client, watcher) = try bus { $0.limits.daemon.outbox = 400 }
        try watcher.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        try watcher.ask(Self.subscribe("count >= 0", #","actions":true"#))
        watcher.isReading = false
        for _ in 0..<40 { try client.increment("counter/a") }
        watcher.isReading = true
        let lines = try watcher.all()
        #expect(lines.count { $0["sub"] == 1 && $0["event"] == "action" } == 40)
        let chosen = lines.filter { $0["sub"] == 2 && $0["event"] != "bookmark" }.map { $0["event"]?.string }
        #expect(chosen.last == "gap" && chosen.count { $0 == "gap" } == 1, "\(chosen)")
        #expect(chosen.count < 40)
        try client.increment("counter/a")
        #expect(try watcher.all().compactMap { $0["event"]?.string } == ["action", "action"])
    }
}

extension MemoryClient {
    /// The events of one kind that have come.
    fileprivate func events(_ kind: String) throws -> [JSON] {
        try all().filter { $0["event"]?.string == kind }
    }
}
