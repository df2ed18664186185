import BusJSON
import TestModes
import TestSupport
import Testing

/// Subscriptions with `where`: the set of stores is those for which it holds now.
@Suite(.inBothModes) struct FilteredSubscriptionTests {
    private func bus(change: (inout MemoryBus.Setup) -> Void = { _ in }) throws -> (
        MemoryBus, MemoryClient, MemoryClient
    ) {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "counter/c", "door/d", change: change)
        return (bus, bus.connect(uid: 0), bus.connect())
    }

    private static func subscribe(_ condition: String, _ more: String = "") -> String {
        #"{"op":"subscribe","type":"counter","where":"\#(condition)"\#(more)}"#
    }

    private func since(_ revision: Int?, _ bus: MemoryBus) -> String {
        #","since":\#(revision ?? 0),"epoch":"\#(bus.epoch)""#
    }

    /// What no expression reads is told from what one reads also when one comes, goes, or comes with a type.
    @Test func anExpressionIsHeardAboutWhatNoneReadBefore() throws {
        let (_, client, watcher) = try bus()
        func act(_ action: String) throws {
            try client.ask(#"{"op":"dispatch","store":"door/d","action":"\#(action)"}"#)
        }
        func watch(_ condition: String) throws -> Int? {
            try watcher.ask(#"{"op":"subscribe","type":"door","where":"\#(condition)"}"#)[0]["sub"]?.int
        }
        _ = try watch("isOpen")
        for _ in 0..<2 { for action in ["lock", "unlock"] { try act(action) } }
        #expect(try watcher.all() == [])
        let locked = try #require(try watch("isLocked"))
        try act("lock")
        #expect(try watcher.all().map { $0["sub"]?.int } == [locked])
        try client.ask(#"{"op":"reload"}"#)
        try act("unlock")
        #expect(try watcher.all().map { $0["dropped"] } == [["door/d"]])
        try watcher.ask(#"{"op":"unsubscribe","sub":\#(locked)}"#)
        for action in ["lock", "unlock", "open"] { try act(action) }
        let opened = try watcher.all()
        #expect(opened.map { $0["states"]?["door/d"]?["isOpen"] } == [true])
    }

    @Test func aStoreComesAndGoesInTheCommitThatMakesItSo() throws {
        let (_, client, watcher) = try bus()
        let first = try watcher.ask(Self.subscribe("count > 1"))
        #expect(first[1]["reset"] == true)
        #expect(first[1]["states"] == [:])
        try client.increment("counter/a")
        #expect(try watcher.all() == [])
        let entered = try client.increment("counter/a")
        let states = try watcher.all()
        #expect(states.count == 1)
        #expect(states.first?["revision"]?.int == entered)
        #expect(states.first?["states"] == ["counter/a": ["count": 2, "isEven": true]])
        #expect(states.first?["changes"] == nil)
        try client.increment("counter/a")
        #expect(try watcher.all().map { $0["changes"] } == [["counter/a": ["count": 3, "isEven": false]]])
        let left = try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":2}}"#)
        let dropped = try watcher.all()
        #expect(dropped.map { $0["dropped"] } == [["counter/a"]])
        #expect(dropped.first?["revision"]?.int == left)
        #expect(dropped.first?["states"] == nil && dropped.first?["changes"] == nil)
        try client.increment("counter/a", by: 0)
        #expect(try watcher.all() == [])
    }

    /// What the expression reads need not be sent.
    @Test(arguments: ["merge", "patch", "state"])
    func selectionAndExpressionAreTwoThings(_ format: String) throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("count > 1", #","select":["/isEven"],"format":"\#(format)""#))
        try client.increment("counter/a", by: 2)
        #expect(try watcher.all().map { $0["states"] } == [["counter/a": ["isEven": true]]])
        try client.increment("counter/a", by: 2)
        #expect(try watcher.all() == [])
        try client.increment("counter/a", by: 1)
        #expect(try watcher.all().count == 1)
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":4}}"#)
        #expect(try watcher.all().map { $0["dropped"] } == [["counter/a"]])
    }

    @Test func storesAreCreatedAndDroppedInTheSetOrOutsideOfIt() throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("count > 1"))
        try client.revision(after: #"{"op":"create","store":"counter/x","state":{"count":5}}"#)
        #expect(try watcher.all().map { $0["states"]?["counter/x"]?["count"] } == [5])
        try client.revision(after: #"{"op":"create","store":"counter/y","state":{"count":1}}"#)
        try client.revision(after: #"{"op":"drop","store":"counter/y"}"#)
        #expect(try watcher.all() == [])
        // Another one at its address, of which only the first is wanted, or only the second.
        for (count, member) in [(0, "dropped"), (9, "states")] {
            try client.revision(
                after:
                    #"{"op":"dispatch","actions":[{"op":"drop","store":"counter/x"},{"op":"create","store":"counter/x","state":{"count":\#(count)}}]}"#
            )
            let told = try watcher.all()
            #expect(told.count == 1 && told[0][member] != nil, "\(told)")
        }
        try client.revision(after: #"{"op":"drop","store":"counter/x"}"#)
        #expect(try watcher.all().map { $0["dropped"] } == [["counter/x"]])
    }

    @Test func aRevertAndADispatchToAllMoveStores() throws {
        let (_, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("isEven"))
        try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(try watcher.all().map { $0["dropped"]?.array?.count } == [3])
        let both = try client.revision(
            after:
                #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},{"store":"counter/b","action":"increment"},{"store":"counter/b","action":"increment"}]}"#
        )
        let told = try watcher.all()
        #expect(told.map { $0["states"]?.object?.keys } == [["counter/a"]])
        #expect(told.first?["revision"]?.int == both)
        try client.revision(after: #"{"op":"revert","store":"counter/a","revision":\#(both - 1)}"#)
        #expect(try watcher.all().map { $0["dropped"] } == [["counter/a"]])
        try client.revision(after: #"{"op":"revert","store":"counter/a","revision":\#(both)}"#)
        #expect(try watcher.all().map { $0["states"]?["counter/a"]?["count"] } == [2])
    }

    @Test func aDefinitionAndTheEndOfASessionMoveStores() throws {
        let definition = { (full: Int) in
            "type: box\ninitial: { n: 0 }\ncomputed: { isFull: n == \(full) }"
        }
        let (bus, client, watcher) = try bus { $0.definitions = [definition(1)] }
        try client.revision(after: #"{"op":"create","store":"box/kept"}"#)
        let owner = bus.connect()
        try owner.revision(after: #"{"op":"create","store":"box/mine","ephemeral":true}"#)
        try watcher.ask(#"{"op":"subscribe","type":"box","where":"isFull"}"#)
        func redefined(_ full: Int) throws -> [JSON] {
            bus.definitions = [definition(full)]
            try client.ask(#"{"op":"reload"}"#)
            return try watcher.all().filter { $0["event"] == "change" }
        }
        #expect(try redefined(0).map { $0["states"]?.object?.keys } == [["box/kept", "box/mine"]])
        owner.close()
        #expect(try watcher.all().map { $0["dropped"] } == [["box/mine"]])
        #expect(try redefined(1).map { $0["dropped"] } == [["box/kept"]])
    }

    @Test func expressionsThatDoNotChangeByWhatChangesAreNotTested() throws {
        let (bus, client, watcher) = try bus()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","where":"has(state.isOpen)"}"#)
        try watcher.ask(#"{"op":"subscribe","match":"*/*","where":"store.startsWith('door')"}"#)
        try client.increment()
        #expect(try watcher.all() == [])
        try client.revision(after: #"{"op":"dispatch","store":"door/d","action":"open"}"#)
        #expect(try watcher.all().map { $0["sub"] } == [1, 2])
        #expect(bus.engine.miscounts.isEmpty)
    }

    @Test(
        arguments: [
            (#""meta.time > 0""#, "invalid_request"), (#""count <""#, "invalid_request"),
            ("true", "invalid_request"), (#""state.meta == 1""#, nil), (#"{">":[{"var":"count"},1]}"#, nil),
        ] as [(String, String?)])
    func whatCantBeFollowedIsRefused(_ condition: String, _ code: String?) throws {
        let (_, client, _) = try bus()
        let reply = try client.reply(to: #"{"op":"subscribe","type":"counter","where":\#(condition)}"#)
        #expect(reply["error"]?["code"]?.string == code, "\(reply)")
        if code != nil { #expect(reply["error"]?["member"] == "where") }
    }

    // MARK: Late

    private static func step(_ random: inout SeededGenerator) -> String {
        let name = ["a", "b", "c", "x", "y"].randomElement(using: &random)!
        let by = Int.random(in: 1...3, using: &random)
        let one = #""store":"counter/\#(name)""#
        return [
            #"{"op":"dispatch",\#(one),"action":"increment","payload":{"by":\#(by)}}"#,
            #"{"op":"dispatch",\#(one),"action":"decrement","payload":{"by":\#(by)}}"#,
            #"{"op":"dispatch","type":"counter","action":"decrement","where":"count > 3","payload":{"by":\#(by)}}"#,
            #"{"op":"create",\#(one),"state":{"count":\#(by)}}"#, #"{"op":"drop",\#(one)}"#,
            #"{"op":"dispatch","actions":[{"op":"drop",\#(one)},{"op":"create",\#(one),"state":{"count":\#(by)}}]}"#,
        ].randomElement(using: &random)!
    }

    private static let conditions = [
        "count > 1", "isEven", "count >= 0 && count < 3", "store != 'counter/a'", "state.count > 2 || isEven",
    ]

    /// From every revision on, the copy that had been kept until then becomes the truth.
    @Test(arguments: ["", #","select":["/isEven"]"#])
    func resumingFromEveryRevisionLeadsToTheSameSet(_ more: String) throws {
        for (seed, condition) in Self.conditions.enumerated() {
            let (bus, client, watcher) = try bus()
            var mirror = ContractMirror()
            try mirror.take(watcher.ask(Self.subscribe(condition, more)))
            var past = [mirror]
            var random = SeededGenerator(seed: UInt64(seed))
            for _ in 0..<80 {
                try client.ask(Self.step(&random))
                try mirror.take(watcher.all())
                let truth = try client.reply(
                    to: #"{"op":"get","type":"counter","where":"\#(condition)"\#(more)}"#)["states"]?.object
                let held = JSONObject(distinct: mirror.states.map { .init(key: $0.key, value: $0.value) })
                try #require(held == truth ?? [:], "\(condition), seed \(seed)")
                past.append(mirror)
            }
            for var copy in past {
                let returning = bus.connect()
                let revision = copy.revision
                let lines = try returning.ask(Self.subscribe(condition, more + since(revision, bus)))
                #expect(lines.count == 2 && lines[1]["reset"] == nil)
                try copy.take(lines)
                #expect(copy.states == mirror.states, "\(condition) since \(revision ?? 0)")
                returning.close()
            }
            #expect(bus.engine.miscounts.isEmpty)
        }
    }

    /// A reader that is behind gets in one event what differs, and nothing that stayed as it was.
    @Test(arguments: 0..<12) func aSlowReaderGetsWhatDiffers(_ seed: Int) throws {
        let (bus, client, watcher) = try bus { $0.limits.daemon.outbox = 400 }
        let condition = Self.conditions[seed % Self.conditions.count]
        let more = seed % 2 == 0 ? "" : #","select":["/isEven"]"#
        var random = SeededGenerator(seed: UInt64(seed))
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(Self.subscribe(condition, more)))
        var isLate = false
        for _ in 0..<12 {
            watcher.isReading = false
            for _ in 0..<Int.random(in: 20...90, using: &random) { try client.ask(Self.step(&random)) }
            watcher.isReading = true
            let lines = try watcher.all()
            isLate = isLate || lines.contains { $0["coalesced"] != nil }
            try mirror.take(lines)
            let truth = try client.reply(
                to: #"{"op":"get","type":"counter","where":"\#(condition)"\#(more)}"#)["states"]?.object
            let held = JSONObject(distinct: mirror.states.map { .init(key: $0.key, value: $0.value) })
            try #require(held == truth ?? [:], "\(condition), seed \(seed)")
        }
        #expect(isLate)
        #expect(bus.engine.miscounts.isEmpty)
    }

    @Test func whatLeftMeanwhileIsDropped() throws {
        let (bus, client, _) = try bus()
        try client.increment("counter/a", by: 5)
        let revision = try client.increment("counter/b", by: 5)
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":5}}"#)
        let lines = try bus.connect().ask(Self.subscribe("count > 1", since(revision, bus)))
        #expect(lines[1]["dropped"] == ["counter/a"])
        #expect(lines[1]["from"]?.int == revision)
        #expect(lines[1]["states"] == nil)
    }

    /// Too much has changed to tell of each store: it starts over.
    @Test func afterTooManyChangesItBeginsAnew() throws {
        let (bus, client, _) = try bus()
        for index in 0..<1100 { client.queue(#"{"op":"create","store":"counter/n\#(index)"}"#) }
        client.send(#"{"op":"ping"}"#)
        _ = try client.all()
        let lines = try bus.connect().ask(Self.subscribe("count > 1", since(8, bus)))
        #expect(lines[1]["reset"] == true)
        #expect(lines[1]["states"] == [:])
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func aSubscriptionOutlivesItsDaemon() throws {
        let (bus, client, watcher) = try bus()
        try client.increment("counter/a", by: 5)
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(Self.subscribe("count > 1")))
        #expect(mirror.states.keys.sorted() == ["counter/a"])
        try bus.restart()
        try client.increment("counter/b", by: 2)
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":4}}"#)
        try mirror.take(watcher.all())
        #expect(mirror.states.keys.sorted() == ["counter/b"])
        #expect(mirror.revision == bus.engine.revision)
    }

    // MARK: Actions

    @Test func actionsAreThoseOnStoresThatMatchBeforeOrAfter() throws {
        let (bus, client, watcher) = try bus()
        try watcher.ask(Self.subscribe("count > 1", #","actions":true"#))
        func told() throws -> [String?] {
            try watcher.all().map { $0["event"] == "action" ? $0["action"]?.string : $0["event"]?.string }
        }
        try client.increment("counter/a")
        #expect(try told() == [])
        try client.increment("counter/a")
        #expect(try told() == ["increment"])
        try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(try told() == ["increment"])
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":3}}"#)
        #expect(try told() == ["decrement"])
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"decrement","payload":{"by":0}}"#)
        try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(try told() == ["increment"])
        // Which stores were meant in the past is not known.
        let past = try bus.connect().ask(
            Self.subscribe("count > 1", #","actions":true"# + since(5, bus)))
        #expect(past[1]["event"] == "gap")
        #expect(bus.engine.miscounts.isEmpty)
    }

    /// Expressions that take too long beside a commit: whoever has one begins again, and misses nothing.
    @Test func whatACommitDoesNotWaitForBeginsAgain() throws {
        let (bus, client, watcher) = try bus()
        // More than a store may take: it holds for none.
        func slow(_ number: Int) -> String {
            "count < 0 || lists.range(400).all(i, lists.range(400).all(j, i + j >= -\(number)))"
        }
        for number in 0..<5 { try watcher.ask(Self.subscribe(slow(number))) }
        var mirrors: [ContractMirror] = []
        var numbers: [Int] = []
        for condition in ["count > 1", "count % 2 == 1"] {
            let lines = try watcher.ask(Self.subscribe(condition))
            numbers.append(try #require(lines[0]["sub"]?.int))
            mirrors.append(ContractMirror())
            try mirrors[mirrors.count - 1].take(lines)
        }
        var (resets, gaps) = (0, 0)
        let last = try #require(
            try watcher.ask(Self.subscribe("count > 0", #","actions":true"#)).first?["sub"]?.int)
        for round in 0..<20 {
            try client.increment("counter/\(["a", "b", "c"][round % 3])")
            if round % 5 == 4 {
                try client.ask(#"{"op":"create","store":"counter/n\#(round)","state":{"count":3}}"#)
            }
            let lines = try watcher.all()
            for (place, number) in numbers.enumerated() {
                let events = lines.filter { $0["sub"]?.int == number }
                resets += events.count { $0["reset"] == true }
                try mirrors[place].take(events)
            }
            // Its actions are told, or that they are not.
            let told = lines.filter { $0["sub"]?.int == last && $0["event"] != "bookmark" }
            #expect(told.allSatisfy { $0["event"] == "gap" || $0["event"] == "action" } && !told.isEmpty)
            gaps += told.count { $0["event"] == "gap" }
            #expect(bus.engine.miscounts.isEmpty)
        }
        #expect(resets > 10 && gaps > 5, "\(resets) \(gaps)")
        let states = try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object ?? [:]
        for (mirror, isMeant) in zip(mirrors, [{ $0 > 1 }, { $0 % 2 == 1 }] as [(Int) -> Bool]) {
            let expected = states.members.filter { isMeant($0.value["count"]?.int ?? 0) }
            #expect(mirror.states == Dictionary(uniqueKeysWithValues: expected.map { ($0.key, $0.value) }))
        }
    }
}
