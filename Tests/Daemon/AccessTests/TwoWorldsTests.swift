import BusJSON
import TestModes
import TestSupport
import Testing

/// Two buses that differ only in what a client may not read answer it alike, byte for byte: replies, errors and events.
@Suite(.inBothModes) struct TwoWorldsTests {
    private static let types = [
        """
        type: a
        initial: { count: 0, secret: 1, deep: { one: 1, two: 1 } }
        actions:
          add: { increment: { count: 1 } }
          one: { payload: { to: integer }, set: { deep.one: { var: payload.to } } }
          hide: { payload: { to: integer }, set: { secret: { var: payload.to }, deep.two: { var: payload.to } } }
          ask: { require: [{ if: { "<": [{ var: state.secret }, 0] }, else: { cat: ["secret is ", { var: state.secret }] } }] }
          over: { increment: { secret: 9223372036854775807 } }
        """,
        """
        type: b
        initial: { count: 0 }
        actions: { add: { increment: { count: 1 } }, hide: { payload: { to: integer }, set: { count: { var: payload.to } } } }
        """,
    ]

    /// Rules under which `secret` and `deep.two` of `a`, and all of `b` but `b/shown*`, are hidden from everybody but root.
    private static let rules = """
        roles: { admin: [{ uid: 0 }], reader: [{ uid: 1001 }, { uid: 1003 }], writer: [{ uid: 1002 }, { uid: 1003 }] }
        rules:
          - { role: admin, may: all }
          - { role: reader, may: [read, history], match: a/*, select: [/count] }
          - { role: reader, may: [read, history, dispatch, create, drop], match: b/shown* }
          - { role: writer, may: [read, dispatch, revert], match: a/*, select: [/deep/one] }
          - { role: writer, may: dispatch, match: b/* }
        """

    private static let uids = [1001, 1002, 1003, 1004]
    private static let seeds = Seeds.some(10, asSaid: true)
    /// What root or a client does; 10,000 for all seeds.
    private static let steps = 1000

    /// One bus and its clients.
    private final class World {
        let bus: MemoryBus
        let root: MemoryClient
        let clients: [Int: MemoryClient]

        init() throws {
            var setup = MemoryBus.Setup()
            setup.definitions = TwoWorldsTests.types
            setup.stores = ["a/x1", "a/x2", "a/y1", "b/shown1", "b/hidden1"]
            setup.access = TwoWorldsTests.rules
            setup.log = MemoryLog()
            bus = try MemoryBus(setup)
            root = bus.connect(uid: 0)
            let bus = bus
            clients = Dictionary(uniqueKeysWithValues: TwoWorldsTests.uids.map { ($0, bus.connect(uid: $0)) })
        }

        /// All that has come for everybody but root.
        func heard() -> [String] {
            while root.nextLine() != nil {}
            return TwoWorldsTests.uids.flatMap { uid in
                var lines: [String] = []
                while let line = clients[uid]!.nextLine() { lines.append("\(uid): \(line)") }
                return lines
            }
        }
    }

    @Test(
        .aloneOnly(because: "A member of a shared bus hands nothing over."),
        arguments: seeds) func whatIsHiddenInfluencesNothing(seed: Int) throws
    {
        var random = SeededGenerator(seed: UInt64(seed) + 4711)
        let worlds = [try World(), try World()]
        for step in 0..<Self.steps {
            let what = Int.random(in: 0..<20, using: &random)
            let uid = Self.uids.randomElement(using: &random)!
            switch what {
            case 0..<6:
                for world in worlds { world.root.send(hidden(&random, world)) }
            case 6..<10:
                let line = visible(&random, worlds[0])
                for world in worlds { world.root.send(line) }
            case 10 where step % 7 == 0:
                for world in worlds { try world.bus.restart() }
            case 11:
                let isReading = Bool.random(using: &random)
                for world in worlds {
                    world.clients[uid]!.isFullWhenNotReading = true
                    world.clients[uid]!.isReading = isReading
                }
            default:
                let line = request(&random, worlds[0])
                for world in worlds { world.clients[uid]!.send(line) }
            }
            let (one, other) = (worlds[0].heard(), worlds[1].heard())
            guard one == other, worlds[0].bus.engine.revision == worlds[1].bus.engine.revision else {
                Issue.record("Seed \(seed), step \(step), kind \(what):\n\(one)\n\(other)")
                return
            }
        }
    }

    /// Of hidden types the history says nothing: not that there are any, nor what the log keeps of them.
    @Test func historyOfAHiddenTypeIsThatOfNone() throws {
        var setup = MemoryBus.Setup()
        setup.definitions =
            Self.types
            + ["keep: none", "keep: latest", "commits: 1"].enumerated().map {
                "type: c\($0)\ninitial: { n: 0 }\nactions: { add: { increment: { n: 1 } } }\nlog: { \($1) }"
            } + ["view: v\nof: c0\nvalues: { all: count() }"]
        (setup.stores, setup.access, setup.log) = (["c0/a", "c1/a", "c2/a"], Self.rules, MemoryLog())
        let bus = try MemoryBus(setup)
        let (root, client) = (bus.connect(uid: 0), bus.connect(uid: 1001))
        for _ in 0..<3 { root.send(#"{"op":"dispatch","type":"*","action":"add"}"#) }
        func answer(_ type: String, _ more: String) throws -> String {
            client.send(#"{"op":"history","type":"\#(type)"\#(more)}"#)
            return try #require(client.nextLine())
        }
        for more in ["", #","since":1"#, #","order":"newest","limit":1"#] {
            let none = try answer("none", more)
            for type in ["c0", "c1", "c2", "v"] { #expect(try answer(type, more) == none) }
        }
    }

    /// Nor where a page ends, whichever hidden commits lie between those that are shown and those of the next page.
    @Test func pagesEndWhereWhatIsShownEnds() throws {
        let pages = try ["b/hidden1", "c/a"].map { (hidden: String) -> [String] in
            var setup = MemoryBus.Setup()
            setup.definitions =
                Self.types
                + [
                    """
                    type: c
                    initial: { n: 0 }
                    actions: { add: { increment: { n: 1 } } }
                    log: { keep: none }
                    """
                ]
            (setup.stores, setup.access, setup.log) = (
                ["b/shown1", "b/hidden1", "c/a"], Self.rules, MemoryLog()
            )
            let bus = try MemoryBus(setup)
            let (root, client) = (bus.connect(uid: 0), bus.connect(uid: 1001))
            for store in ["b/shown1", hidden, "b/shown1", "b/shown1"] {
                root.send(#"{"op":"dispatch","store":"\#(store)","action":"add"}"#)
            }
            let since = bus.engine.revision - 4
            return try [
                #""since":\#(since),"limit":1"#, #""order":"newest","since":\#(since),"limit":2"#,
            ].map {
                client.send(#"{"op":"history",\#($0)}"#)
                return try #require(client.nextLine())
            }
        }
        #expect(pages[0] == pages[1] && pages[0].allSatisfy { $0.contains(#""next""#) })
    }

    /// What has left a set while a client was away comes in an order of its own.
    @Test func whatLeftASetTellsNotWhatChangedLast() throws {
        let events = try ["a/x1", "a/x2"].map { (store: String) -> [String] in
            let world = try World()
            let since = world.bus.engine.revision
            for line in [
                #"{"op":"dispatch","type":"a","action":"add"}"#,
                #"{"op":"dispatch","store":"\#(store)","action":"hide","payload":{"to":5}}"#,
            ] { world.root.send(line) }
            world.clients[1001]!.send(
                #"{"op":"subscribe","type":"a","where":"count > 5","since":\#(since),"epoch":"\#(world.bus.engine.epoch)"}"#
            )
            return world.heard().map { $0.replacing(world.bus.engine.epoch, with: "E") }
        }
        #expect(events[0] == events[1] && events[0].contains { $0.contains("dropped") }, "\(events)")
    }

    /// A `where` that takes longer than a store may does not tell which store that was.
    @Test func anExpressionThatTakesTooLongNamesNoStore() throws {
        let slow = "lists.range(400).all(i, lists.range(400).all(j, i + j >= 0))"
        let answers = try ["b/left", "b/right"].map { (store: String) -> String in
            var setup = MemoryBus.Setup()
            (setup.definitions, setup.stores, setup.access) = (Self.types, [store], Self.rules)
            let bus = try MemoryBus(setup)
            let client = bus.connect(uid: 1002)
            client.send(#"{"op":"dispatch","type":"b","action":"add","where":"\#(slow)"}"#)
            return try #require(client.nextLine())
        }
        #expect(answers[0] == answers[1] && answers[0].contains("`where` takes more on a store of b"))
    }

    // MARK: Root

    /// A commit of root that nobody else sees anything of; another one in each world.
    private func hidden(_ random: inout SeededGenerator, _ world: World) -> String {
        let number = Int.random(in: 1..<40, using: &random)
        let store = ["a/x1", "a/x2", "a/y1"].randomElement(using: &random)!
        let hide = #""action":"hide","payload":{"to":\#(number)}"#
        switch Int.random(in: 0..<6, using: &random) {
        case 0..<3: return #"{"op":"dispatch","store":"\#(store)",\#(hide)}"#
        case 3: return #"{"op":"dispatch","type":"a",\#(hide)}"#
        case 4: return #"{"op":"dispatch","store":"b/hidden1",\#(hide)}"#
        default:
            let address = "b/hidden-\(number)"
            return world.bus.engine.state(at: address) == nil
                ? #"{"op":"create","store":"\#(address)"}"# : #"{"op":"drop","store":"\#(address)"}"#
        }
    }

    /// A commit of root that is the same in both worlds.
    private func visible(_ random: inout SeededGenerator, _ world: World) -> String {
        let store = ["a/x1", "a/x2", "a/y1", "b/shown1"].randomElement(using: &random)!
        let number = Int.random(in: 1..<5, using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return #"{"op":"dispatch","type":"a","action":"add"}"#
        case 1: return #"{"op":"dispatch","store":"a/x1","action":"one","payload":{"to":\#(number)}}"#
        case 2:
            let revision = Int.random(in: 5...max(5, world.bus.engine.revision), using: &random)
            return #"{"op":"revert","store":"\#(store)","revision":\#(revision)}"#
        case 3:
            return
                #"{"op":"dispatch","actions":[{"store":"b/hidden1","action":"add"},{"store":"\#(store)","action":"add"}]}"#
        default: return #"{"op":"dispatch","store":"\#(store)","action":"add"}"#
        }
    }

    // MARK: Clients

    /// About the past, forwards and backwards, and by what the index knows.
    private func question(
        _ store: String, _ revision: Int, _ action: String, _ random: inout SeededGenerator
    ) -> String {
        let path = ["/count", "/deep/one", ""].randomElement(using: &random)!
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return #"{"op":"blame","store":"\#(store)","path":"\#(path)"}"#
        case 1: return #"{"op":"blame","store":"\#(store)","revision":\#(max(5, revision))}"#
        case 2:
            return
                #"{"op":"samples","store":"\#(store)","path":"\#(path)","since":\#(max(5, revision)),"most":3,"cause":true}"#
        default:
            let filter = [
                #","action":"\#(action)""#, #","by":"0""#, #","where":"to > 1""#, #","store":"\#(store)""#,
                "",
            ].randomElement(using: &random)!
            let order = random.oneIn(2) ? #","order":"newest""# : ""
            return
                #"{"op":"history","limit":\#(Int.random(in: 1...5, using: &random)),"since":\#(revision)\#(filter)\#(order)}"#
        }
    }

    private func request(_ random: inout SeededGenerator, _ world: World) -> String {
        let store = ["a/x1", "a/x2", "a/y1", "b/shown1", "b/shown2", "b/hidden1"].randomElement(
            using: &random)!
        let match = ["*/*", "a/*", "b/*", "a/x*", "b/shown?"].randomElement(using: &random)!
        let now = world.bus.engine.revision
        let revision = max(0, now - Int.random(in: 0..<12, using: &random))
        let action = ["add", "one", "hide", "ask", "over"].randomElement(using: &random)!
        let payload = ["one", "hide"].contains(action) ? #","payload":{"to":3}"# : ""
        let isFuture = Bool.random(using: &random)
        // In both worlds the same is set then, so what is hidden stays different by what root does.
        switch Int.random(in: 0..<16, using: &random) {
        case 0: return #"{"op":"get","match":"\#(match)","limit":\#(Int.random(in: 1...3, using: &random))}"#
        case 1: return #"{"op":"get","store":"\#(store)"}"#
        case 2:
            return #"{"op":"stores","match":"\#(match)","limit":\#(Int.random(in: 1...3, using: &random))}"#
        case 3: return #"{"op":"stores","match":"\#(match)"}"#
        case 4: return #"{"op":"get","match":"\#(match)","revision":\#(max(5, revision))}"#
        case 5: return question(store, max(0, revision - 9), action, &random)
        case 6:
            let dryRun = isFuture ? #","dryRun":true"# : ""
            return
                #"{"op":"dispatch","store":"\#(store)","action":"\#(action)"\#(payload),"ifRevision":\#(revision)\#(dryRun)}"#
        case 7:
            return #"{"op":"dispatch","store":"\#(store)","action":"\#(action)"\#(payload),"dryRun":true}"#
        case 8: return #"{"op":"dispatch","type":"a","action":"\#(action)"\#(payload)}"#
        case 9: return #"{"op":"dispatch","store":"\#(store)","action":"\#(action)"\#(payload)}"#
        case 10:
            return
                #"{"op":"subscribe","match":"\#(match)","since":\#(revision),"epoch":"\#(world.bus.epoch)"}"#
        case 11: return #"{"op":"subscribe","match":"\#(match)","select":["/deep"],"format":"patch"}"#
        case 12: return #"{"op":"unsubscribe","sub":\#(Int.random(in: 1...20, using: &random))}"#
        case 13: return #"{"op":"revert","store":"\#(store)","revision":\#(max(5, revision))}"#
        case 14:
            return
                #"{"op":"subscribe","match":"\#(match)","actions":true,"since":\#(revision),"epoch":"\#(world.bus.epoch)"}"#
        default: return #"{"op":"create","store":"b/shown2","ifMissing":true}"#
        }
    }
}
