import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What an action returns is told with it, as it was on the state after it, to the client and wherever the action is told.
@Suite(.inBothModes) struct ReturnsTests {
    private static let queue = """
        type: queue
        initial: { last: 0, open: true, note: "" }
        computed: { isLong: last > 2 }
        actions:
          draw:
            payload: { by: { type: integer, default: 1 } }
            when: state.open
            increment: { last: = payload.by }
            returns: { ticket: = state.last, long: = state.isLong, at: = store, revision: = meta.revision }
          look: { returns: = state.last }
          close: { set: { open: false } }
          fail: { increment: { last: 1 }, returns: = 10 / (state.last - 2) }
          deep: { payload: { value: any }, returns: "= payload.value" }
          write: { payload: { note: string }, set: { note: = payload.note }, returns: = state.note }
          later: { timers: { now: { in: 1s, action: draw } } }
        """
    private static let other = """
        type: shelf
        initial: { n: 0 }
        actions:
          draw: { payload: { by: { type: integer, default: 1 } }, increment: { n: = payload.by } }
          look: { returns: nothing }
        """

    private func make(_ change: (inout MemoryBus.Setup) -> Void = { _ in }) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.queue, Self.other]
        setup.stores = ["queue/a", "queue/b", "shelf/a"]
        setup.log = MemoryLog()
        change(&setup)
        return try MemoryBus(setup)
    }

    private static func draw(_ target: String, _ rest: String = "") -> String {
        let kind = target.contains("/") ? "store" : "type"
        return #"{"op":"dispatch","\#(kind)":"\#(target)","action":"draw"\#(rest)}"#
    }

    @Test func replyHasWhatTheStateAfterTheActionGives() throws {
        let client = try make().connect()
        let reply = try client.reply(to: Self.draw("queue/a", #","payload":{"by":3}"#))
        let revision = reply["revision"]?.int ?? 0
        #expect(
            reply["result"] == ["ticket": 3, "long": true, "at": "queue/a", "revision": .int(revision)])
        let look = try client.reply(to: #"{"op":"dispatch","store":"queue/a","action":"look"}"#)
        #expect(look["result"] == 3 && look["changed"] == 0)
        // It is no value of its own: a text that no equals sign begins is that text.
        let all = try client.reply(to: #"{"op":"dispatch","type":"*","action":"look"}"#)
        #expect(all["results"] == ["queue/a": 3, "queue/b": 0, "shelf/a": "nothing"])
        #expect(all["result"] == nil)
    }

    @Test func storesThatAreLeftAloneReturnNothing() throws {
        let client = try make().connect()
        try client.revision(after: #"{"op":"dispatch","store":"queue/a","action":"close"}"#)
        let one = try client.reply(to: Self.draw("queue/a"))
        #expect(one["matched"] == 1 && one["result"] == nil && one["results"] == nil)
        let all = try client.reply(to: Self.draw("*"))
        #expect(all["results"]?.object?.keys == ["queue/b"])
    }

    /// Each action of a batch is told with its own, and the reply has the last of each store.
    @Test func batchReturnsByAddress() throws {
        let client = try make().connect()
        let watcher = client
        try watcher.revision(after: #"{"op":"subscribe","match":"*/*","actions":true}"#)
        let lines = try client.ask(
            #"""
            {"op":"dispatch","actions":[{"store":"queue/a","action":"draw"},{"type":"shelf","action":"draw"},{"type":"queue","action":"look"},{"store":"queue/b","action":"look"}]}
            """#)
        let reply = try #require(lines.first { $0["ok"] == true })
        #expect(reply["results"] == ["queue/a": 1, "queue/b": 0])
        let events = lines.filter { $0["event"] == "action" }
        #expect(events.map { $0["result"]?["ticket"] ?? $0["result"] } == [1, nil, nil, 0])
        #expect(events.map { $0["results"] } == [nil, nil, ["queue/a": 1, "queue/b": 0], nil])
    }

    @Test func whatFailsRejectsAndChangesNothing() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.draw("queue/b"))
        let digest = bus.engine.stateDigest
        let reply = try client.reply(to: #"{"op":"dispatch","type":"queue","action":"fail"}"#)
        #expect(reply["error"]?["code"] == "rejected")
        #expect(reply["error"]?["store"] == "queue/b")
        #expect(
            reply["error"]?["message"]?.string?.hasPrefix("queue/b refused fail: in returns, ") == true)
        #expect(bus.engine.stateDigest == digest)
    }

    /// What nests as deeply as a state is told in every place; what nests deeper is refused.
    @Test func whatNestsTooDeeplyIsRefused() throws {
        let client = try make().connect()
        try client.revision(after: #"{"op":"subscribe","match":"*/*","cause":true,"initial":false}"#)
        func value(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        func deep(_ depth: Int) -> String {
            #"{"op":"dispatch","store":"queue/a","action":"deep","payload":{"value":\#(value(depth))}}"#
        }
        #expect(try client.reply(to: deep(59))["ok"] == true)
        #expect(try client.code(of: deep(60)) == "rejected")
        #expect(try client.isUsable())
    }

    /// All that one dispatch returns fits into a line, or it is refused.
    @Test func whatIsTooLongTogetherIsRefused() throws {
        let client = try make { $0.limits.bus.state = 4096 }.connect()
        func write(_ target: String, _ count: Int) -> String {
            let kind = target.contains("/") ? "store" : "type"
            let note = String(repeating: "x", count: count)
            return
                #"{"op":"dispatch","\#(kind)":"\#(target)","action":"write","payload":{"note":"\#(note)"}}"#
        }
        #expect(try client.reply(to: write("queue/a", 3000))["result"]?.string?.count == 3000)
        #expect(try client.code(of: write("queue", 3000)) == "rejected")
        #expect(try client.reply(to: write("queue", 1500))["results"]?.object?.count == 2)
    }

    /// The refusal takes back what was written to the store whose value is one too many, too.
    @Test func whatReturnsTooMuchWritesNothing() throws {
        let bus = try make { $0.limits.bus.state = 4096 }
        let client = bus.connect()
        let digest = bus.engine.stateDigest
        let note = String(repeating: "x", count: 3000)
        let line = #"{"op":"dispatch","type":"queue","action":"write","payload":{"note":"\#(note)"}}"#
        #expect(try client.code(of: line) == "rejected")
        #expect(try client.state(of: "queue/a")?["note"] == "")
        #expect(try client.state(of: "queue/b")?["note"] == "")
        #expect(bus.engine.stateDigest == digest)
        try client.revision(after: Self.draw("queue"))
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func dryRunTellsWhatWouldBeReturned() throws {
        let client = try make().connect()
        let reply = try client.reply(to: Self.draw("queue/a", #","dryRun":true"#))
        #expect(reply["result"]?["ticket"] == 1)
        #expect(try client.state(of: "queue/a")?["last"] == 0)
    }

    /// A timer's action tells what it returns where actions are told.
    @Test func actionOfATimerIsToldWithIt() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"subscribe","store":"queue/a","cause":true,"initial":false}"#)
        try client.revision(after: #"{"op":"dispatch","store":"queue/a","action":"later"}"#)
        bus.advance(milliseconds: 1000)
        let cause = try client.all().last { $0["event"] == "change" }?["cause"]
        #expect(cause?["actions"]?[0]?["result"]?["ticket"] == 1)
    }

    // MARK: Keys and the log

    @Test func repeatedKeyGetsWhatTheFirstGot() throws {
        let bus = try make()
        let client = bus.connect()
        let lines = [
            Self.draw("queue/a", #","key":"one""#), Self.draw("queue", #","key":"all""#),
            Self.draw("shelf/a", #","key":"none""#),
            #"{"op":"dispatch","actions":[{"store":"queue/a","action":"look"}],"key":"batch"}"#,
        ]
        var first: [JSON] = []
        for line in lines { first.append(try client.reply(to: line)) }
        try client.revision(after: Self.draw("queue"))
        func again(_ client: MemoryClient) throws {
            for (line, reply) in zip(lines, first) {
                var expected = reply.object ?? [:]
                expected["duplicate"] = true
                #expect(try client.reply(to: line) == .object(expected))
            }
        }
        try again(client)
        let successor = try bus.crash()
        #expect(successor.engine.stateDigest == bus.engine.stateDigest)
        try again(successor.connect())
    }

    /// Also where stores come and go between its actions.
    @Test func logOfABatchWithStoresIsReadAgain() throws {
        let bus = try make()
        let client = bus.connect()
        let reply = try client.reply(
            to: #"""
                {"op":"dispatch","actions":[{"store":"queue/a","action":"draw"},{"op":"create","store":"queue/z"},{"type":"queue","action":"look"},{"op":"drop","store":"queue/z"}]}
                """#)
        #expect(reply["results"]?["queue/b"] == 0)
        #expect(try bus.isWhatTheLogSays())
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    /// A keyed commit that could not be written is none, nor is what it returned: the request is carried out when it comes again.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func whatTheLogTookBackIsReturnedAnew() throws {
        let bus = try make()
        let client = bus.connect()
        let (kept, lost) = (Self.draw("queue/a", #","key":"kept""#), Self.draw("queue/a", #","key":"lost""#))
        try client.revision(after: kept)
        bus.disk = .isBusy
        client.send(lost)
        bus.disk = .fails
        #expect(try client.codes().contains("unavailable"))
        bus.disk = .works
        #expect(try client.reply(to: kept)["result"]?["ticket"] == 1)
        #expect(try client.reply(to: #"{"op":"dispatch","store":"queue/a","action":"look"}"#)["result"] == 1)
        let again = try client.reply(to: lost)
        #expect(again["result"]?["ticket"] == 2 && again["duplicate"] == nil)
        #expect(try client.reply(to: lost)["duplicate"] == true)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func handOverKeepsWhatKeysReturned() throws {
        for log in [nil, MemoryLog()] {
            let bus = try make { $0.log = log }
            let client = bus.connect()
            let line = Self.draw("queue", #","key":"all""#)
            let first = try client.reply(to: line)
            try client.revision(after: Self.draw("queue"))
            try bus.restart()
            let again = try client.reply(to: line)
            #expect(first["results"] != nil && again["results"] == first["results"])
            #expect(again["duplicate"] == true)
        }
    }

    /// Actions of the past are told as they were when they were new.
    @Test func pastActionsHaveWhatTheyReturned() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"subscribe","match":"*/*","actions":true}"#)
        let before = bus.engine.revision
        let lines = [
            Self.draw("queue/a"), Self.draw("queue"), Self.draw("*"),
            #"{"op":"dispatch","actions":[{"store":"queue/a","action":"look"},{"store":"queue/b","action":"look"}]}"#,
        ]
        var live: [JSON] = []
        for line in lines { live += try client.ask(line).filter { $0["event"] == "action" } }
        let past = try client.ask(
            #"{"op":"subscribe","match":"*/*","actions":true,"since":\#(before),"epoch":"\#(bus.epoch)"}"#)
        #expect(
            past.filter { $0["event"] == "action" }.map(Self.withoutNumber) == live.map(Self.withoutNumber))
        #expect(live.count == 5 && live.allSatisfy { $0["result"] != nil || $0["results"] != nil })
        let history = try client.reply(to: #"{"op":"history","since":\#(before)}"#)
        let told = (history["commits"]?.array ?? []).flatMap { $0["actions"]?.array ?? [] }
        #expect(told.map { $0["result"] ?? $0["results"] } == live.map { $0["result"] ?? $0["results"] })
        #expect(try bus.isWhatTheLogSays())
    }

    private static func withoutNumber(_ event: JSON) -> JSON {
        var members = event.object ?? [:]
        members["sub"] = nil
        return .object(members)
    }
}
