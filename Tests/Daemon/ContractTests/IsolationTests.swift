import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 8: who does not read costs the others nothing, and the daemon no more than its outbox.
@Suite(.inBothModes) struct IsolationTests {
    private func busWithSmallOutboxes(_ stores: String...) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = stores
        return try MemoryBus(setup)
    }

    @Test(arguments: ["merge", "patch", "state"])
    func slowReaderIsCoalescedAndOthersAreNot(_ format: String) throws {
        let bus = try busWithSmallOutboxes("counter/a", "counter/b")
        let (client, quick, slow) = (bus.connect(uid: 0), bus.connect(), bus.connect())
        let subscribe = #"{"op":"subscribe","type":"counter","format":"\#(format)"}"#
        var (quickMirror, slowMirror) = (ContractMirror(), ContractMirror())
        try quickMirror.take(quick.ask(subscribe))
        try slowMirror.take(slow.ask(subscribe))
        slow.isReading = false
        for _ in 0..<2000 { try client.increment() }
        try client.revision(after: #"{"op":"create","store":"counter/c"}"#)
        try client.ask(#"{"op":"drop","store":"counter/b"}"#)
        let waiting = try client.reply(to: #"{"op":"stats"}"#)["stats"]?["outboxBytes"]?.int
        #expect(try #require(waiting) < 8192)

        let events = try quick.all()
        #expect(events.count == 2002)
        #expect(events.allSatisfy { $0["coalesced"] == nil })
        try quickMirror.take(events)

        slow.isReading = true
        let late = try slow.all()
        #expect(late.count < 200)
        let coalesced = try #require(late.last)
        #expect((coalesced["coalesced"]?.int ?? 0) > 1800)
        #expect(
            coalesced["coalesced"]?.int == (coalesced["revision"]?.int ?? 0) - (coalesced["from"]?.int ?? 0))
        try slowMirror.take(late)
        #expect(slowMirror.states == quickMirror.states)
        #expect(slowMirror.states.keys.sorted() == ["counter/a", "counter/c"])

        // It has caught up: the next change comes by itself.
        try client.increment()
        let next = try slow.all()
        #expect(next.count == 1)
        #expect(next[0]["coalesced"] == nil)
    }

    private static let readings = """
        type: reading
        initial: { value: 0, noise: 0, unit: { name: C, checks: 0 } }
        actions:
          measure: { set: { value: { var: payload.value } }, payload: { value: integer } }
          rustle: { increment: { noise: 1 } }
          check: { increment: { unit.checks: 1 } }
        """

    private func busWithReadings(outbox: Int) throws -> (client: MemoryClient, slow: MemoryClient) {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = outbox
        setup.definitions = [Self.readings]
        setup.stores = ["reading/a", "reading/b", "reading/c", "counter/a"]
        let bus = try MemoryBus(setup)
        return (bus.connect(uid: 0), bus.connect())
    }

    /// What a slow reader selects stays equal in some stores while others change: it hears of those only.
    @Test(arguments: [#""type":"reading""#, #""match":"reading/?""#])
    func mergedChangesLeaveOutWhatStaysEqual(_ pattern: String) throws {
        let (client, slow) = try busWithReadings(outbox: 4096)
        try slow.ask(#"{"op":"subscribe",\#(pattern),"select":["/value","/unit"]}"#)
        slow.isReading = false
        func send(_ store: String, _ action: String, _ payload: String = "{}") throws {
            try client.ask(
                #"{"op":"dispatch","store":"reading/\#(store)","action":"\#(action)","payload":\#(payload)}"#)
        }
        // Until the outbox is full, and some more that only makes it lag.
        for value in 1...100 { try send("a", "measure", #"{"value":\#(value)}"#) }
        for _ in 0..<50 { try send("b", "rustle") }
        try send("c", "check")
        try send("a", "rustle")
        slow.isReading = true
        let merged = try #require(try slow.all().last)
        #expect((merged["coalesced"]?.int ?? 0) > 50)
        let states = try #require(merged["states"]?.object)
        #expect(states.keys.sorted() == ["reading/a", "reading/c"])
        #expect(states["reading/a"] == ["unit": ["checks": 0, "name": "C"], "value": 100])
        #expect(states["reading/c"] == ["unit": ["checks": 1, "name": "C"], "value": 0])
    }

    /// The commit with which a reader begins to lag counts, and so does all that comes before it has caught up.
    @Test func theFirstMissedCommitIsToldInFull() throws {
        let (client, slow) = try busWithReadings(outbox: 4096)
        var mirror = ContractMirror()
        try mirror.take(slow.ask(#"{"op":"subscribe","type":"reading","select":["/value"]}"#))
        slow.isReading = false
        for value in 1...200 {
            // One commit: what is selected changes in two stores, and something else in the third.
            try client.ask(
                #"{"op":"dispatch","actions":[{"store":"reading/a","action":"measure","payload":{"value":\#(value)}},"#
                    + #"{"store":"reading/b","action":"rustle"},"#
                    + #"{"store":"reading/c","action":"measure","payload":{"value":\#(-value)}}]}"#)
        }
        slow.isReading = true
        let events = try slow.all()
        for event in events where event["coalesced"] != nil {
            #expect(event["states"]?.object?.keys.sorted() == ["reading/a", "reading/c"])
        }
        #expect(events.contains { $0["coalesced"] != nil })
        try mirror.take(events)
        #expect(mirror.states["reading/a"]?["value"] == 200)
        #expect(mirror.states["reading/c"]?["value"] == -200)
    }

    @Test func nothingMoreIsReadFromAClientThatDoesNotRead() throws {
        let bus = try busWithSmallOutboxes("counter/a")
        let (client, slow) = (bus.connect(), bus.connect())
        slow.isReading = false
        for _ in 0..<1000 { slow.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#) }
        let count = try #require(try client.state(of: "counter/a")?["count"]?.int)
        #expect(count > 10)
        #expect(count < 200)
        // Nothing is lost: when it reads, everything it has sent is carried out and answered, in order.
        slow.isReading = true
        let replies = try slow.all()
        #expect(replies.map { $0["revision"]?.int } == Array(2...1001))
        #expect(try client.state(of: "counter/a")?["count"] == 1000)
    }

    /// The same when all of it arrives in one piece.
    @Test(
        .aloneOnly(because: "On a shared bus requests are on their way before their answers fill the outbox.")
    )
    func burstOfAClientThatDoesNotReadWaits() throws {
        let bus = try busWithSmallOutboxes("counter/a")
        let (client, slow) = (bus.connect(), bus.connect())
        slow.isReading = false
        let line = #"{"op":"dispatch","store":"counter/a","action":"increment"}"# + "\n"
        slow.send(bytes: Array(String(repeating: line, count: 1000).utf8))
        #expect(try #require(try client.state(of: "counter/a")?["count"]?.int) < 200)
        slow.isReading = true
        #expect(try slow.all().map { $0["revision"]?.int } == Array(2...1001))
    }

    /// One commit's events fill the outbox before the last subscription has its own: the reply waits for it.
    @Test func replyWaitsForTheLastOfSeveralSubscriptions() throws {
        let bus = try busWithSmallOutboxes("thermostat/t")
        let client = bus.connect()
        let mode = String(repeating: "m", count: 3000)
        for _ in 0..<4 {
            try client.ask(#"{"op":"subscribe","store":"thermostat/t","format":"state","initial":false}"#)
        }
        let note = #"{"op":"dispatch","store":"thermostat/t","action":"note","payload":{"text":"\#(mode)"}}"#
        let lines = try client.ask(note)
        #expect(lines.map { $0["sub"]?.int } == [1, 2, 3, 4, nil])
        #expect(lines.last?["ok"] == true)
        #expect(lines.allSatisfy { $0["revision"] == 2 })
    }

    /// A reply never overtakes the change it bears the revision of, even where the change waits for room.
    @Test func repliesOfASlowReaderStandBehindItsChanges() throws {
        let bus = try busWithSmallOutboxes("counter/a")
        let (client, slow) = (bus.connect(), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(slow.ask(#"{"op":"subscribe","type":"counter"}"#))
        slow.isReading = false
        for _ in 0..<300 { try client.increment() }
        slow.send(#"{"id":1,"op":"dispatch","store":"counter/a","action":"increment"}"#)
        slow.isReading = true
        let lines = try slow.all()
        let reply = try #require(lines.firstIndex { $0["id"] == 1 })
        try mirror.take(Array(lines[..<reply]))
        #expect(mirror.states["counter/a"]?["count"] == 301)
        #expect(mirror.revision == lines[reply]["revision"]?.int)
        #expect(try slow.isUsable())
    }

    @Test(
        .aloneOnly(
            because: "A bus with a log, as a shared one, tells actions later and ends nobody for them."))
    func slowReaderOfActionsIsEnded() throws {
        let bus = try busWithSmallOutboxes("door/front")
        let (client, slow, quick) = (bus.connect(), bus.connect(), bus.connect())
        try slow.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        try quick.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        slow.isReading = false
        for _ in 0..<100 { try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#) }
        #expect(try quick.all().count == 100)
        #expect(!slow.isEnded)
        bus.advance(milliseconds: 1000)
        slow.isReading = true
        let lines = try slow.all()
        #expect(lines.last?["event"] == "goodbye")
        #expect(lines.last?["code"] == "slow_consumer")
        #expect(slow.isEnded)
        #expect(bus.operatorNotes.count == 1)
        #expect(!quick.isEnded)
        #expect(try client.isUsable())
    }

    /// That the bus has not come to writing is not a client's fault: one whose socket takes what there is is not ended.
    @Test(
        .aloneOnly(
            because: "A bus with a log, as a shared one, tells actions later and ends nobody for them."))
    func whoIsNotWrittenToIsNotEnded() throws {
        let bus = try busWithSmallOutboxes("door/front")
        let engine = bus.engine
        let (client, slow) = (bus.connect(), bus.connect())
        try slow.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        slow.isReading = false
        slow.isFullWhenNotReading = false
        for _ in 0..<100 { try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#) }
        bus.advance(milliseconds: 5000)
        #expect(bus.operatorNotes.isEmpty)
        engine.noteFull(slow.connection)
        bus.advance(milliseconds: 1000)
        slow.isReading = true
        #expect(try slow.all().last?["code"] == "slow_consumer")
    }

    /// Who reads is not ended because others dispatch faster, as long as the bus has memory.
    /// Who was stuck and has read again starts over.
    @Test func whoReadsNowAndThenIsNotEnded() throws {
        let bus = try busWithSmallOutboxes("door/front")
        let (client, slow) = (bus.connect(), bus.connect())
        try slow.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        for _ in 0..<5 {
            slow.isReading = false
            for _ in 0..<100 {
                try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#)
            }
            bus.advance(milliseconds: 700)
            #expect(bus.operatorNotes.isEmpty)
            slow.isReading = true
            #expect(try slow.all().count == 100)
        }
    }

    /// So does one whose socket has room again, though nothing has been sent since.
    @Test(
        .aloneOnly(
            because: "A bus with a log, as a shared one, tells actions later and ends nobody for them."))
    func whoHasRoomAgainIsNotEnded() throws {
        let bus = try busWithSmallOutboxes("door/front")
        let (client, slow) = (bus.connect(), bus.connect())
        try slow.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        slow.isReading = false
        slow.isFullWhenNotReading = false
        for _ in 0..<100 { try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#) }
        bus.engine.noteFull(slow.connection)
        bus.advance(milliseconds: 900)
        bus.engine.noteRoom(slow.connection)
        bus.engine.noteFull(slow.connection)
        bus.advance(milliseconds: 900)
        #expect(bus.operatorNotes.isEmpty)
        bus.advance(milliseconds: 200)
        slow.isReading = true
        #expect(try slow.all().last?["code"] == "slow_consumer")
    }

    /// While memory is short those who do not read are ended, and nobody else is refused anything.
    @Test func whoDoesNotReadGoesBeforeOthersAreRefused() throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [
            "type: page\ninitial: { text: '' }\nactions: { write: { payload: { text: string }, set: { text: { var: payload.text } } } }"
        ]
        setup.stores = ["page/a"]
        setup.limits.daemon.memory = 8 << 20
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        let text = String(repeating: "x", count: 100_000)
        try client.revision(
            after: #"{"op":"dispatch","store":"page/a","action":"write","payload":{"text":"\#(text)"}}"#)
        let stuck = (0..<60).map { _ in bus.connect() }
        for one in stuck {
            one.isReading = false
            for _ in 0..<3 { one.send(#"{"op":"get","store":"page/a"}"#) }
        }
        bus.advance(milliseconds: 1500)
        // As many are ended as it takes for a quarter to be free; who has the sockets throws away what waits for them.
        let waiting = stuck.filter { !bus.engine.isDiscarding($0.connection) }
            .reduce(0) { $0 + bus.engine.waitingOutput(of: $1.connection) }
        #expect(waiting <= 6 << 20)
        for _ in 0..<10 {
            #expect(
                try client.code(of: #"{"op":"create","store":"counter/n\#(Int.random(in: 0..<1 << 40))"}"#)
                    == nil)
        }
    }

    @Test func readerOfActionsMayFallBehind() throws {
        let bus = try busWithSmallOutboxes("door/front")
        let (client, slow) = (bus.connect(), bus.connect())
        try slow.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
        var seen = 0
        for _ in 0..<20 {
            slow.isReading = false
            for _ in 0..<100 {
                try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#)
            }
            bus.advance(milliseconds: 900)
            slow.isReading = true
            seen += try slow.all().count
        }
        #expect(seen == 2000)
        #expect(!slow.isEnded)
    }
}
