import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Questions about the past that the index answers, held to a plain look at every commit and every state, on random histories.
@Suite(.inBothModes) struct PastQuestionTests {
    private static let seeds = Seeds.some(12)

    private static func shelf(naming member: String) -> String {
        """
        type: shelf
        initial: { count: 0, label: a, items: {}, list: [] }
        computed: { isFull: count > 3 }
        actions:
          add: { payload: { by: integer }, increment: { count: = payload.by } }
          name: { payload: { to: string }, set: { \(member): = payload.to } }
          put: { payload: { id: string, to: any }, set: { "items.{payload.id}": = payload.to } }
          take: { payload: { id: string }, unset: ["items.{payload.id}"] }
          push: { payload: { value: integer }, append: { list: = payload.value } }
          pop: { unset: [list.0] }
          both: { payload: { by: integer, to: string }, when: state.count < 5, increment: { count: = payload.by }, set: { label: = payload.to } }
        """
    }

    private static let stores = ["shelf/a", "shelf/b", "shelf/c"]
    private static let paths = [
        "", "/count", "/label", "/items", "/items/x", "/items/y", "/list", "/list/0", "/list/1", "/isFull",
        "/no",
    ]

    private static func bus(_ random: inout SeededGenerator) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [shelf(naming: "label")]
        setup.stores = ["shelf/a", "shelf/b", "counter/a"]
        let log = MemoryLog()
        log.indexed = [nil, 1, 3, 10].randomElement(using: &random)!
        setup.log = log
        let bus = try MemoryBus(setup)
        let clients = [bus.connect(uid: 0), bus.connect(uid: 1), bus.connect(uid: 2)]
        for step in 0..<70 {
            let client = clients.randomElement(using: &random)!
            if random.oneIn(12) {
                // Equal commits become one entry.
                bus.disk = .isBusy
                for _ in 0..<5 {
                    client.send(#"{"op":"dispatch","store":"shelf/a","action":"add","payload":{"by":1}}"#)
                }
                bus.disk = .works
            }
            client.send(line(&random))
            _ = try client.all()
            bus.advance(milliseconds: Int.random(in: 0...2000, using: &random))
            if random.oneIn(15) { bus.written?.takeSnapshot(try bus.past(at: bus.engine.revision)) }
            if step == 40, random.oneIn(2) {
                bus.definitions = [shelf(naming: "count")]
                clients[0].send(#"{"op":"reload"}"#)
                _ = try clients[0].all()
            }
        }
        return bus
    }

    private static func line(_ random: inout SeededGenerator) -> String {
        let store = stores.randomElement(using: &random)!
        func action() -> String {
            let (number, text) = (
                Int.random(in: -1...2, using: &random), ["a", "b"].randomElement(using: &random)!
            )
            let (name, payload) =
                [
                    ("add", #"{"by":\#(number)}"#), ("name", #"{"to":"\#(text)"}"#),
                    (
                        "put",
                        #"{"id":"\#(["x", "y", "70000"].randomElement(using: &random)!)","to":\#(number)}"#
                    ),
                    ("take", #"{"id":"x"}"#), ("push", #"{"value":\#(number)}"#), ("pop", "{}"),
                    ("both", #"{"by":\#(number),"to":"\#(text)"}"#),
                ].randomElement(using: &random)!
            let target = [#""store":"\#(store)""#, #""type":"shelf""#, #""type":"*""#].randomElement(
                using: &random)!
            return #"\#(target),"action":"\#(name)","payload":\#(payload)"#
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return #"{"op":"create","store":"shelf/c"}"#
        case 1: return #"{"op":"drop","store":"shelf/c"}"#
        case 2:
            return
                #"{"op":"revert","store":"\#(store)","revision":\#(Int.random(in: 1...40, using: &random))}"#
        case 3: return #"{"op":"dispatch","actions":[{\#(action())},{\#(action())}]}"#
        case 4: return #"{"op":"dispatch","store":"counter/a","action":"increment"}"#
        case 5:
            return
                #"{"op":"dispatch","store":"shelf/a","action":"add","payload":{"by":1},"in":1,"timer":"t"}"#
        default: return "{\"op\":\"dispatch\",\(action())}"
        }
    }

    // MARK: Commits

    /// What a commit did: to what, by which name, with which payload.
    private static func steps(_ commit: JSON) -> [(target: String, name: String, payload: JSON)] {
        var steps = (commit["actions"]?.array ?? []).map {
            (
                $0["store"]?.string ?? $0["type"]?.string ?? "", $0["action"]?.string ?? "",
                $0["payload"] ?? [:]
            )
        }
        for member in commit["created"]?.object?.members ?? [] {
            steps.append((member.key, "create", member.value))
        }
        for store in commit["dropped"]?.array ?? [] { steps.append((store.string ?? "", "drop", [:])) }
        if let store = commit["reverted"]?["store"]?.string { steps.append((store, "revert", [:])) }
        if let timer = commit["scheduled"] {
            steps.append((timer["store"]?.string ?? "", "schedule", timer["payload"] ?? [:]))
        }
        if let timer = commit["fired"], commit["actions"] == [] {
            steps.append((timer["store"]?.string ?? "", "timer", [:]))
        }
        for type in commit["definitions"]?.array ?? [] {
            steps.append((type["type"]?.string ?? "", "reload", [:]))
        }
        return steps
    }

    private static func takes(_ commit: JSON, _ request: JSONObject, _ shelf: Set<String>) -> Bool {
        if let by = request["by"] {
            let wanted = (by.array ?? [by]).compactMap(\.string)
            let uid = commit["by"]?["uid"]?.int.map(String.init)
            guard wanted.contains(where: { $0 == uid || $0 == "daemon" && commit["by"]?["daemon"] == true })
            else {
                return false
            }
        }
        let (store, type) = (request["store"]?.string, request["type"]?.string)
        guard store ?? type ?? request["action"]?.string ?? request["where"]?.string != nil else {
            return true
        }
        return steps(commit).contains { step in
            let isOfType = step.target == "shelf" || step.target == "*" && shelf.contains(step.name)
            if let store, step.target != store && !isOfType { return false }
            if type != nil, !step.target.hasPrefix("shelf/") && !isOfType { return false }
            if let action = request["action"]?.string, action != step.name { return false }
            return request["where"] == nil || step.payload["by"]?.int ?? 0 > 0
        }
    }

    @Test(arguments: seeds) func commitsAreThoseThatAPlainLookFinds(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let bus = try Self.bus(&random)
        let client = bus.connect(uid: 9)
        let shelf: Set = ["add", "name", "put", "take", "push", "pop", "both"]
        let all = try #require(try client.reply(to: #"{"op":"history","limit":1000}"#)["commits"]?.array)
        #expect(all.count == bus.engine.revision)
        for _ in 0..<60 {
            var request: JSONObject = ["op": "history"]
            if random.oneIn(2) {
                request["by"] = ["0", "1", "daemon", "nobody", ["1", "2"]].randomElement(using: &random)!
            }
            if random.oneIn(2) {
                request["action"] = .string(
                    ["add", "put", "create", "drop", "revert", "reload", "schedule", "no"].randomElement(
                        using: &random)!)
            }
            if random.oneIn(3) { request["where"] = "by > 0" }
            if random.oneIn(2) {
                request["store"] = .string(Self.stores.randomElement(using: &random)!)
            } else if random.oneIn(3) {
                request["type"] = "shelf"
            }
            let (since, until) = (
                Int.random(in: 0...30, using: &random), Int.random(in: 0...99, using: &random)
            )
            let isNewestFirst = random.oneIn(2)
            if isNewestFirst { request["order"] = "newest" }
            request["limit"] = .int(Int.random(in: 1...40, using: &random))
            let expected = all.filter { commit in
                let revision = commit["revision"]!.int!
                return revision > since && revision <= until && Self.takes(commit, request, shelf)
            }
            (request["since"], request["until"]) = (.int(since), .int(until))
            var found: [JSON] = []
            while true {
                let reply = try client.reply(to: JSON.object(request).encoded)
                let page = try #require(reply["commits"]?.array, "\(request): \(reply)")
                #expect(page.count <= request["limit"]!.int!)
                found += page
                guard let next = reply["next"] else { break }
                request[isNewestFirst ? "until" : "since"] = next
            }
            #expect(found == (isNewestFirst ? expected.reversed() : expected), "\(request)")
        }
    }

    // MARK: Values

    /// Calls `body` with each part of each store of a random history: its values after each commit, and the store's states.
    private func forEachPart(
        seed: UInt64,
        _ body: (
            _ client: MemoryClient, _ store: String, _ path: String, _ values: [JSON?], _ states: [JSON?],
            inout SeededGenerator
        ) throws -> Void
    ) throws {
        var random = SeededGenerator(seed: seed)
        let bus = try Self.bus(&random)
        let client = bus.connect(uid: 9)
        for store in Self.stores {
            let states = try (0...bus.engine.revision).map { revision in
                try client.reply(to: #"{"op":"get","store":"\#(store)","revision":\#(revision)}"#)["states"]?[
                    store]
            }
            for path in Self.paths {
                let pointer = try JSONPointer(path)
                try body(client, store, path, states.map { $0.flatMap(pointer.resolve) }, states, &random)
            }
        }
    }

    @Test(arguments: seeds) func valuesAreBlamedOnTheCommitThatMadeThem(_ seed: Int) throws {
        try forEachPart(seed: UInt64(100 + seed)) { client, store, path, values, states, random in
            let last = states.count - 1
            for revision in [
                last, Int.random(in: 0...last, using: &random), Int.random(in: 0...last, using: &random),
            ] {
                let reply = try client.reply(
                    to: #"{"op":"blame","store":"\#(store)","path":"\#(path)","revision":\#(revision)}"#)
                let place: Comment = "\(store) \(path) at \(revision): \(reply)"
                guard states[revision] != nil else {
                    #expect(reply["error"]?["code"] == "unknown_store", place)
                    continue
                }
                let found = try #require(reply["values"]?.array?.first, place)
                let change = (1...max(1, revision)).last { values[$0] != values[$0 - 1] }
                #expect(found["value"] == values[revision], place)
                #expect(found["commit"]?["revision"]?.int == change, place)
                #expect(found["old"] == change.flatMap { values[$0 - 1] }, place)
            }
            let members = try client.reply(to: #"{"op":"blame","store":"\#(store)"}"#)
            #expect(members["values"]?.array?.count == states[last]?.object?.count, "\(members)")
        }
    }

    @Test(arguments: seeds) func samplesAreTheChanges(_ seed: Int) throws {
        try forEachPart(seed: UInt64(200 + seed)) { client, store, path, values, _, random in
            let since = Int.random(in: 0..<values.count, using: &random)
            let until = Int.random(in: since..<values.count, using: &random)
            let most = Int.random(in: 1...12, using: &random)
            let reply = try client.reply(
                to:
                    #"{"op":"samples","store":"\#(store)","path":"\#(path)","since":\#(since),"until":\#(until),"most":\#(most),"cause":true}"#
            )
            let place: Comment = "\(store) \(path) after \(since) through \(until): \(reply)"
            let samples = try #require(reply["samples"]?.array, place)
            let changes = since < until ? (since + 1...until).filter { values[$0] != values[$0 - 1] } : []
            #expect(samples.count <= most, place)
            #expect(samples.last?["value"] == values[until], place)
            #expect(samples.last?["revision"]?.int == changes.last ?? since, place)
            for sample in samples {
                let revision = try #require(sample["revision"]?.int)
                let commit = try client.reply(
                    to: #"{"op":"history","since":\#(revision - 1),"until":\#(revision)}"#)
                let isChange = changes.contains(revision)
                #expect(sample["by"] == (isChange ? commit["commits"]?[0]?["by"] : nil), place)
            }
            if changes.count < most {
                #expect(samples.map { $0["revision"]?.int } == [since] + changes, place)
                #expect(samples.map { $0["value"] } == [values[since]] + changes.map { values[$0] }, place)
            } else {
                #expect(samples.reduce(0) { $0 + ($1["changes"]?.int ?? 0) } == changes.count, place)
                let numbers = ([since] + changes).compactMap { values[$0]?.double }
                #expect(samples.compactMap { $0["least"]?.double }.min() == numbers.min(), place)
                #expect(samples.compactMap { $0["most"]?.double }.max() == numbers.max(), place)
            }
        }
    }

    @Test(
        arguments: [
            (#"{"op":"history","order":"up"}"#, "invalid_request"),
            (#"{"op":"history","by":7}"#, "invalid_request"),
            (#"{"op":"history","by":[]}"#, "invalid_request"),
            (#"{"op":"history","by":["a","b","c","d","e","f","g","h","i"]}"#, "invalid_request"),
            (#"{"op":"history","where":"by >"}"#, "invalid_request"),
            (#"{"op":"history","order":"newest","until":3,"time":1}"#, "invalid_request"),
            (#"{"op":"blame","path":"/count"}"#, "invalid_request"),
            (#"{"op":"blame","store":"counter/a","path":"count"}"#, "invalid_request"),
            (#"{"op":"blame","store":"counter/a","revision":99}"#, "conflict"),
            (#"{"op":"blame","store":"counter/b"}"#, "unknown_store"),
            (#"{"op":"blame","store":"countr/b"}"#, "unknown_type"),
            (#"{"op":"samples","store":"counter/b","path":"/count"}"#, "unknown_store"),
            (#"{"op":"samples","store":"countr/b","path":"/count"}"#, "unknown_type"),
            (#"{"op":"samples","store":"counter/a","path":"/count","since":1,"until":0}"#, "invalid_request"),
            (#"{"op":"samples","store":"counter/a"}"#, "invalid_request"),
            (#"{"op":"samples","store":"counter/a","path":"/count","most":0}"#, "invalid_request"),
            (#"{"op":"samples","store":"counter/a","path":"/count","most":1001}"#, "invalid_request"),
        ])
    func badQuestionsAreRefused(_ request: String, _ code: String) throws {
        let client = try MemoryBus.logging("counter/a").connect()
        #expect(try client.code(of: request) == code)
        #expect(try client.isUsable())
    }

    /// Types and stores that were are asked about like those that are; what never was has no past.
    @Test func whatWasIsToldAndWhatNeverWasIsNot() throws {
        let bus = try MemoryBus.logging("counter/a") {
            $0.users = [0: ("root", []), 1: ("eve", [])]
            $0.definitions = ["type: lamp\ninitial: { on: false }\nactions: { switch: { toggle: [on] } }"]
            $0.access = """
                roles: { admin: [{ user: root }], guest: [{ user: eve }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: [read, history], match: counter/* }
                """
        }
        let (client, guest) = (bus.connect(uid: 0), bus.connect(uid: 1))
        try client.reply(to: #"{"op":"create","store":"lamp/a"}"#)
        try client.reply(to: #"{"op":"dispatch","type":"*","action":"switch"}"#)
        try client.reply(to: #"{"op":"drop","store":"lamp/a"}"#)
        bus.definitions = []
        #expect(try client.reply(to: #"{"op":"reload"}"#)["ok"] == true)
        let history = try client.reply(to: #"{"op":"history","type":"lamp"}"#)
        #expect(history["commits"]?.array?.count ?? 0 >= 4, "\(history)")
        for member in [#""type":"lamp""#, #""store":"lamp/a""#] {
            #expect(
                try client.reply(to: #"{"op":"history",\#(member),"by":"nobody"}"#)["commits"] == [],
                "\(member)"
            )
        }
        let samples = try client.reply(to: #"{"op":"samples","store":"lamp/a","path":"/on"}"#)
        #expect(samples["samples"]?.array?.compactMap { $0["value"] } == [false, true], "\(samples)")
        // To whom may not know of it, what was looks like what never was.
        let seen = try ["lamp", "countr"].map {
            try guest.reply(to: #"{"op":"history","type":"\#($0)"}"#)["commits"]
        }
        #expect(seen[0] != nil && seen[0] == seen[1], "\(seen)")
    }

    /// Stores of views come and go without commits of their own.
    @Test func aStoreOfAViewThatNeverWasHasNoPast() throws {
        let bus = try MemoryBus.logging("item/x") {
            $0.definitions = [
                """
                type: item
                initial: { text: a }
                actions: { write: { payload: { text: string }, set: { text: = payload.text } } }
                """,
                "view: texts\nof: item\nby: text\nvalues: { n: count() }",
            ]
        }
        let client = bus.connect()
        func write(_ text: String) throws -> Int {
            try client.revision(
                after: #"{"op":"dispatch","store":"item/x","action":"write","payload":{"text":"\#(text)"}}"#)
        }
        func samples(_ text: String, _ range: String = "") -> String {
            #"{"op":"samples","store":"texts/\#(text)","path":"/n"\#(range)}"#
        }
        let before = bus.engine.revision
        let (first, last) = (try write("b"), try write("c"))
        for range in ["", #","since":\#(first)"#, #","until":\#(first)"#, #","since":\#(last)"#] {
            #expect(try client.code(of: samples("never", range)) == "unknown_store", "\(range)")
        }
        // These were at other times.
        let others = [("a", #","since":\#(last)"#), ("b", #","until":\#(before)"#)]
        for request in others.map(samples) {
            let reply = try client.reply(to: request)
            let last = try #require(reply["samples"]?.array?.last, "\(request): \(reply)")
            #expect(last["value"] == nil, "\(request): \(reply)")
        }
        let changes = try client.reply(to: samples("b"))["samples"]?.array
        #expect(changes?.map { $0["value"] } == [nil, 1, nil], "\(changes ?? [])")
    }

    /// What is no longer kept is not guessed.
    @Test(.aloneOnly(because: "A member's log is trimmed by its own daemon.")) func whatIsGoneIsSaid() throws
    {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        for _ in 0..<4 { try client.increment(by: 0) }
        bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        bus.written?.forget(before: bus.engine.revision)
        try client.increment("counter/a", by: 0)
        let oldest = bus.engine.revision - 1
        let reply = try client.reply(to: #"{"op":"blame","store":"counter/a","path":"/count"}"#)
        #expect(reply["values"] == [["path": "/count", "value": 0]] && reply["oldest"]?.int == oldest)
        for request in [
            #"{"op":"blame","store":"counter/a","revision":2}"#,
            #"{"op":"samples","store":"counter/a","path":"/count","since":2}"#,
            #"{"op":"history","order":"newest","since":2}"#,
        ] {
            let error = try client.reply(to: request)["error"]
            #expect(error?["code"] == "conflict" && error?["oldest"]?.int == oldest, "\(request)")
        }
        #expect(try client.reply(to: #"{"op":"history","order":"newest"}"#)["commits"]?.array?.count == 1)
    }
}
