import BusEngine
import BusHistory
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// The ops that only the log can answer: `history`, `revert`, and `get` and `types` of a past revision.
@Suite(.inBothModes) struct HistoryTests {
    /// Revisions 1 and 2 are the stores', then five commits.
    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let client = bus.connect(uid: 7)
        try client.increment(by: 1)
        try client.increment(by: 2)
        try client.revision(after: #"{"op":"dispatch","type":"*","action":"open"}"#)
        try client.revision(
            after:
                #"{"op":"dispatch","actions":[{"type":"door","action":"rang"},{"store":"counter/a","action":"increment"}]}"#
        )
        try client.revision(after: #"{"op":"create","store":"counter/b"}"#)
        return (bus, client)
    }

    private func revisions(_ client: MemoryClient, _ members: String) throws -> [Int] {
        let reply = try client.reply(to: #"{"op":"history"\#(members)}"#)
        return try #require(reply["commits"]?.array, "\(reply)").compactMap { $0["revision"]?.int }
    }

    @Test func commitsAreToldAsTheyWere() throws {
        let (bus, client) = try bus()
        let commits = try #require(try client.reply(to: #"{"op":"history"}"#)["commits"]?.array)
        #expect(commits.compactMap { $0["revision"]?.int } == Array(1...7))
        #expect(commits[0]["by"] == ["daemon": true])
        #expect(
            commits[3]["actions"] == [["store": "counter/a", "action": "increment", "payload": ["by": 2]]])
        #expect(commits[3]["by"]?["uid"] == 7)
        #expect(commits[3]["time"]?.double == Double(bus.now) / 1000)
        #expect(commits[4]["actions"] == [["type": "*", "action": "open", "payload": [:]]])
        #expect(commits[5]["actions"]?.array?.count == 2)
        #expect(commits[6]["actions"] == [])
    }

    @Test(
        arguments: [
            (#","since":3"#, [4, 5, 6, 7]), (#","since":3,"until":5"#, [4, 5]), (#","until":2"#, [1, 2]),
            (#","since":7"#, []), (#","since":900"#, []), (#","until":900"#, Array(1...7)),
            (#","since":5,"until":2"#, []),
            (#","type":"door""#, [2, 5, 6]), (#","type":"counter""#, [1, 3, 4, 6, 7]),
            (#","store":"counter/b""#, [7]),
            (#","store":"counter/a""#, [1, 3, 4, 6]), (#","type":"lamp""#, []), (#","limit":1"#, [1]),
            (#","limit":2,"type":"counter","since":1"#, [3, 4]),
        ])
    func historyTellsWhatWasAskedFor(_ members: String, _ expected: [Int]) throws {
        let (_, client) = try bus()
        // A dispatch to every type concerns those that declare the action; which did then is not known any more.
        let found = try revisions(client, members).filter { $0 != 5 || expected.contains(5) }
        #expect(found == expected)
    }

    @Test(
        arguments: [1, 2, 3, 100]) func pagesGiveTheWhole(_ limit: Int) throws
    {
        let (bus, client) = try bus()
        bus.disk = .isBusy
        for _ in 0..<10 { client.send(Line.increment) }
        bus.disk = .works
        _ = try client.all()
        var (all, since): ([Int], Int?) = ([], 0)
        while let from = since {
            let reply = try client.reply(to: #"{"op":"history","since":\#(from),"limit":\#(limit)}"#)
            let page = try #require(reply["commits"]?.array).compactMap { $0["revision"]?.int }
            #expect(page.count <= limit)
            all += page
            since = reply["next"]?.int
        }
        #expect(all == Array(1...17))
    }

    @Test(
        arguments: [
            (#"{"op":"history","limit":0}"#, "invalid_request"),
            (#"{"op":"history","limit":1001}"#, "invalid_request"),
            (#"{"op":"history","since":-1}"#, "invalid_request"),
            (#"{"op":"history","since":"x"}"#, "invalid_request"),
            (#"{"op":"history","type":"counter","store":"counter/a"}"#, "invalid_request"),
            (#"{"op":"history","store":"counter"}"#, "invalid_request"),
            (#"{"op":"history","x":1}"#, "invalid_request"),
            (#"{"op":"get","store":"counter/a","revision":8}"#, "conflict"),
            (#"{"op":"get","store":"counter/b","revision":6}"#, "unknown_store"),
            (#"{"op":"get","store":"counter/a","revision":-1}"#, "invalid_request"),
            (#"{"op":"get","revision":3}"#, "invalid_request"),
            (#"{"op":"types","type":"lamp","revision":3}"#, "unknown_type"),
            (#"{"op":"revert","store":"counter/a"}"#, "invalid_request"),
            (#"{"op":"revert","revision":3}"#, "invalid_request"),
            (#"{"op":"revert","store":"counter/b","revision":99}"#, "conflict"),
            (#"{"op":"revert","store":"counter/b","revision":3}"#, "unknown_store"),
            (#"{"op":"revert","store":"counter/x","revision":3}"#, "unknown_store"),
            (#"{"op":"revert","store":"counter/a","revision":3}"#, "forbidden"),
            (#"{"op":"revert","store":"counter/b","revision":7,"ifRevision":3}"#, "conflict"),
        ])
    func badQuestionsAreRefused(_ request: String, _ code: String) throws {
        let (bus, client) = try bus()
        #expect(try client.code(of: request) == code)
        #expect(bus.engine.revision == 7)
        #expect(try client.isUsable())
    }

    @Test func storeThatWasNotThereThenIsMissedThen() throws {
        let (_, client) = try bus()
        let reply = try client.reply(to: #"{"op":"get","store":"counter/b","revision":6}"#)
        #expect(
            reply["error"]?["message"]
                == "There was no store counter/b at revision 6; look for a revision in its history.")
    }

    @Test(
        .aloneOnly(because: "A shared bus always has a log."),
        arguments: [
            #"{"op":"history"}"#, #"{"op":"get","store":"counter/a","revision":0}"#,
            #"{"op":"revert","store":"counter/a","revision":1}"#,
        ])
    func busWithoutALogSaysSo(_ request: String) throws {
        let client = try MemoryBus.with("counter/a").connect(uid: 0)
        #expect(try client.code(of: request) == "unavailable")
    }

    @Test func historyThatIsGoneIsAConflict() throws {
        let (bus, client) = try bus()
        let log = try #require(bus.written)
        log.takeSnapshot(try bus.past(at: 5))
        log.forget(before: 5)
        let reply = try client.reply(to: #"{"op":"history","since":2}"#)
        #expect(reply["error"]?["code"] == "conflict")
        #expect(reply["error"]?["oldest"] == 5)
        #expect(try client.code(of: #"{"op":"get","store":"counter/a","revision":4}"#) == "conflict")
        #expect(try revisions(client, "") == [6, 7])
    }

    /// A commit may be longer in the log than the request that made it.
    @Test func commitTooLongForALineIsToldAsSuch() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.line = 4096 }
        let client = bus.connect()
        let text = String(repeating: "\u{1}", count: 500)
        let value = #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":"\#(text)"}}"#
            .replacing("\u{1}", with: "\\u0001")
        try client.revision(after: #"{"op":"create","store":"value/v"}"#)
        try client.revision(after: value)
        let create =
            #"{"op":"create","store":"value/w","state":{"value":"\#(String(repeating: "x", count: 3000))"}}"#
        try client.revision(after: create)
        client.send(#"{"op":"history"}"#)
        let line = try #require(client.nextLine())
        #expect(line.utf8.count < 4096)
        for since in 0..<bus.engine.revision {
            client.send(#"{"op":"history","id":"\#(String(repeating: "i", count: 1500))","since":\#(since)}"#)
            let line = try #require(client.nextLine())
            #expect(line.utf8.count < 4096, "since \(since)")
            let reply = try JSON(parsing: line)
            #expect(reply["ok"] == true || reply["error"]?["code"] == "too_large")
        }
    }

    // MARK: - States

    @Test func pastStatesAreWhatTheyWere() throws {
        let (bus, client) = try bus()
        func count(_ revision: Int) throws -> Int? {
            let reply = try client.reply(to: #"{"op":"get","store":"counter/a","revision":\#(revision)}"#)
            #expect(reply["revision"] == .int(revision))
            return reply["states"]?["counter/a"]?["count"]?.int
        }
        #expect(try (1...7).map(count) == [0, 0, 1, 3, 3, 4, 4])
        // Backwards as well, and while the bus goes on.
        try client.increment()
        #expect(try [7, 3, 8, 1].map(count) == [4, 1, 5, 0])
        let page = try client.reply(
            to: #"{"op":"get","match":"*/*","revision":7,"limit":1,"after":"counter/a","select":["/isEven"]}"#
        )
        #expect(page["states"] == ["counter/b": ["isEven": true]])
        #expect(page["next"] == "counter/b")
        #expect(try client.reply(to: #"{"op":"get","type":"door","revision":0}"#)["states"] == [:])
        _ = bus
    }

    @Test func pastDefinitionsAreWhatTheyWere() throws {
        let one = "type: lamp\ninitial: { on: false }"
        let bus = try MemoryBus.logging("lamp/l") { $0.definitions = [one] }
        let client = bus.connect(uid: 0)
        bus.definitions = ["type: lamp\ninitial: { on: false, level: 3 }"]
        let after = try client.revision(after: #"{"op":"reload"}"#)
        func initial(_ revision: Int) throws -> JSON? {
            let reply = try client.reply(to: #"{"op":"types","type":"lamp","revision":\#(revision)}"#)
            return reply["types"]?[0]?["initial"]
        }
        #expect(try initial(after - 1) == ["on": false])
        #expect(try initial(after) == ["on": false, "level": 3])
        #expect(try client.state(of: "lamp/l") == ["on": false, "level": 3])
        let past = try client.reply(to: #"{"op":"get","store":"lamp/l","revision":\#(after - 1)}"#)
        #expect(past["states"]?["lamp/l"] == ["on": false])
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    /// New definitions concern their own types and the stores of these, and so do types that go.
    @Test func definitionsAreTheHistoryOfTheirTypes() throws {
        let (lamp, fan) = ("type: lamp\ninitial: { on: false }", "type: fan\ninitial: { speed: 0 }")
        let bus = try MemoryBus.logging("lamp/l") { $0.definitions = [lamp, fan] }
        let client = bus.connect(uid: 0)
        bus.definitions = ["type: lamp\ninitial: { on: false, level: 3 }", fan]
        let changed = try client.revision(after: #"{"op":"reload"}"#)
        bus.definitions = [bus.definitions[0]]
        let gone = try client.revision(after: #"{"op":"reload"}"#)
        func commits(_ subject: String) throws -> [Int]? {
            try client.reply(to: #"{"op":"history","since":\#(changed - 1),\#(subject)}"#)["commits"]?.array?
                .compactMap { $0["revision"]?.int }
        }
        #expect(try commits(#""type":"lamp""#) == [changed])
        #expect(try commits(#""store":"lamp/l""#) == [changed])
        #expect(try commits(#""type":"fan""#) == [gone])
        #expect(try commits(#""type":"counter""#) == [])
    }

    // MARK: - Going back

    @Test func revertIsANewCommitWithTheOldState() throws {
        let (bus, client) = try bus()
        let (root, observer) = (bus.connect(uid: 0), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(observer.ask(#"{"op":"subscribe","type":"counter","cause":true}"#))
        #expect(try root.revision(after: #"{"op":"revert","store":"counter/a","revision":3}"#) == 8)
        try mirror.take(observer.all())
        #expect(mirror.states["counter/a"] == ["count": 1, "isEven": false])
        #expect(try client.state(of: "counter/a") == ["count": 1, "isEven": false])
        let commit = try client.reply(to: #"{"op":"history","since":7,"store":"counter/a"}"#)["commits"]?[0]
        #expect(commit?["reverted"] == ["store": "counter/a", "to": 3])
        let next = try bus.crash()
        #expect(next.engine.stateDigest == bus.engine.stateDigest)
    }

    /// Who made a store may revert it, others may not; and whoever decides on what they saw says so.
    @Test func revertIsForWhoMadeTheStore() throws {
        let (bus, client) = try bus()
        try client.increment("counter/b")
        #expect(
            try bus.connect(uid: 8).code(of: #"{"op":"revert","store":"counter/b","revision":7}"#)
                == "forbidden")
        let request = #"{"op":"revert","store":"counter/b","revision":7,"ifRevision":8}"#
        #expect(try client.revision(after: request) == 9)
        #expect(try client.code(of: request) == "conflict")
    }

    /// Reverts that are alike, in one moment and one group, are two commits of the log.
    @Test func revertsThatAreAlikeAreTwoCommits() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (one, two) = (bus.connect(.unix(uid: 0, pid: 9)), bus.connect(.unix(uid: 0, pid: 9)))
        try one.increment()
        bus.disk = .isBusy
        one.send(#"{"op":"revert","store":"counter/a","revision":1}"#)
        two.send(#"{"op":"revert","store":"counter/a","revision":1}"#)
        bus.disk = .works
        #expect(try one.codes() + two.codes() == ["ok", "ok"])
        #expect(bus.engine.revision == 4)
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    /// The store went while its past was looked for, or changed; or the disk failed. One answer, and no harm.
    @Test func revertThatComesTooLateIsRefused() throws {
        let (bus, client) = try bus()
        let other = bus.connect(uid: 0)
        bus.disk = .isBusy
        other.send(#"{"op":"dispatch","store":"door/d","action":"rang"}"#)
        client.send(#"{"op":"revert","store":"counter/b","revision":7}"#)
        other.send(#"{"op":"drop","store":"counter/b"}"#)
        bus.disk = .works
        #expect(try client.codes() == ["unknown_store"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(
        .aloneOnly(because: "A member of a shared bus hands nothing over."),
        arguments: [#"{"op":"history","id":1}"#, #"{"op":"get","id":1,"store":"counter/a","revision":1}"#])
    func questionsOfWhoLeavesAreForgotten(_ request: String) throws {
        let (bus, client) = try bus()
        bus.disk = .isBusy
        let asker = bus.connect()
        client.send(Line.increment)
        asker.send(request)
        asker.close()
        let follower = bus.connect()
        bus.disk = .works
        #expect(try follower.all().isEmpty)
        #expect(try follower.isUsable())
    }

    /// The past is answered with the types of then, also by one that a reload has taken away.
    @Test func typeThatHasGoneAnswersOfItsTime() throws {
        let bus = try MemoryBus.logging { $0.definitions = ["type: lamp\ninitial: { on: false }"] }
        let client = bus.connect(uid: 0)
        try client.revision(after: #"{"op":"create","store":"lamp/desk"}"#)
        let then = bus.engine.revision
        try client.revision(after: #"{"op":"drop","store":"lamp/desk"}"#)
        bus.definitions = []
        #expect(try client.reply(to: #"{"op":"reload"}"#)["ok"] == true)
        #expect(try client.code(of: #"{"op":"get","type":"lamp"}"#) == "unknown_type")
        let reply = try client.reply(to: #"{"op":"get","type":"lamp","revision":\#(then)}"#)
        #expect(reply["states"] == ["lamp/desk": ["on": false]])
        #expect(try client.code(of: #"{"op":"get","type":"Lamp","revision":\#(then)}"#) == "invalid_request")
        #expect(try client.code(of: #"{"op":"get","type":"lump","revision":\#(then)}"#) == "unknown_type")
    }

    /// A page is made in slices, between which others have theirs, and is the same however often it was put off.
    @Test(arguments: [nil, "value", "none"], [false, true])
    func pageInSlicesIsTheSame(_ type: String?, _ isNewestFirst: Bool) throws {
        let bus = try MemoryBus.logging("counter/a", "value/a")
        let client = bus.connect()
        bus.disk = .isBusy
        for number in 0..<200 {
            // Groups of many commits, of equal ones, and of notes only.
            client.send(#"{"op":"dispatch","store":"value/a","action":"set","payload":{"value":\#(number)}}"#)
            for _ in 0..<number % 3 { client.send(Line.increment) }
            if number % 50 == 0 { bus.finishWrite() }
            client.send(#"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#)
            if number % 70 == 0 { bus.finishWrite() }
        }
        bus.disk = .works
        let log = try #require(bus.written)
        let answers = PastAnswers(log, try bus.replay(), longestLine: 1 << 20)
        for (limit, since) in [(1000, nil), (7, 100), (300, 3)] as [(Int, Int?)] {
            let query = LogQuery(
                connection: 1, number: 1,
                subject: .history(
                    HistoryRange(
                        since: since.map { .revision($0) }, until: .revision(bus.engine.revision),
                        newestFirst: isNewestFirst), limit: limit,
                    HistoryWish(subject: type.map { HistorySubject(type: $0, store: nil, actions: nil) }),
                    view: nil),
                peer: .unix(uid: 1, pid: 1), needed: 0, room: 1 << 20)
            guard case .members(let whole) = answers.answer(query) else {
                Issue.record("The page was refused.")
                return
            }
            let progress = PastProgress()
            var slices = 0
            var answer: LogAnswer?
            while answer == nil, slices < 1000 {
                answer = answers.answer(query, progress, hasTime: { false })
                slices += 1
            }
            guard case .members(let sliced) = answer else {
                Issue.record("The page was refused.")
                return
            }
            #expect(String(decoding: sliced, as: UTF8.self) == String(decoding: whole, as: UTF8.self))
            // Sixteen lines or one group in each.
            if limit == 1000 { #expect(slices >= 200 / (type == nil ? 16 : 70), "\(slices)") }
        }
    }
}
