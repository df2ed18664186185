import BusJSON
import TestModes
import TestSupport
import Testing

/// `subscribe` with `since`: what was missed comes first, once and in order, then live events.
@Suite(
    .inBothModes)
struct PastActionTests {
    private func subscribe(
        _ client: MemoryClient, _ bus: MemoryBus, since: Int, _ members: String = #""type":"counter""#
    ) {
        client.send(
            #"{"op":"subscribe",\#(members),"actions":true,"since":\#(since),"epoch":"\#(bus.epoch)"}"#)
    }

    private func revisions(_ client: MemoryClient) throws -> [Int] {
        try client.all().filter { $0["event"] == "action" }.compactMap { $0["revision"]?.int }
    }

    @Test(arguments: 1...8) func everyActionSinceIsToldThenLiveOnes(_ since: Int) throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 2...8 { try other.increment() }
        subscribe(client, bus, since: since)
        try other.increment()
        #expect(try revisions(client) == Array(since + 1..<10))
        #expect(try revisions(client).isEmpty)
    }

    /// The same events, whether they came live, from memory or from the log of a daemon before.
    @Test func pastEventsAreWhatLiveOnesWere() throws {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let (live, other) = (bus.connect(), bus.connect())
        live.send(#"{"op":"subscribe","type":"counter","actions":true}"#)
        let deep = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        for line in [
            Line.increment, #"{"op":"dispatch","type":"counter","action":"reset"}"#,
            #"{"op":"dispatch","type":"door","action":"rang"}"#,
            #"{"op":"dispatch","actions":[{"type":"door","action":"rang"},{"store":"counter/a","action":"increment"},{"type":"counter","action":"reset"}]}"#,
        ] { try other.revision(after: line) }
        live.send(#"{"op":"subscribe","type":"value","actions":true}"#)
        try other.revision(
            after: #"{"op":"dispatch","type":"value","action":"set","payload":{"value":\#(deep)}}"#)
        func events(_ client: MemoryClient) throws -> [JSON] {
            var lines: [JSON] = []
            while let line = client.nextLine() { lines.append(try JSON(parsing: line, depthLimit: 100)) }
            return lines.filter { $0["event"] != nil }
        }
        let told = try events(live)
        #expect(told.count == 5)
        let next = try bus.crash()
        for bus in [bus, next] {
            let late = bus.connect()
            subscribe(late, bus, since: 2)
            subscribe(late, bus, since: 2, #""type":"value""#)
            #expect(try events(late) == told)
        }
    }

    /// A store that has gone since was there then.
    @Test func actionsOnAStoreThatWentAreTold() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, root) = (bus.connect(), bus.connect(uid: 0))
        try root.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        try root.revision(after: Line.increment)
        try root.revision(after: #"{"op":"drop","store":"counter/a"}"#)
        subscribe(client, bus, since: 1, #""store":"counter/a""#)
        #expect(try revisions(client) == [2, 3])
    }

    /// From the log, or from one large group that is still in memory.
    @Test(arguments: [true, false]) func slowReaderIsToldEverythingAsItReads(inOneGroup: Bool) throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 4096 }
        let (client, other) = (bus.connect(), bus.connect())
        if inOneGroup { bus.disk = .isBusy }
        for index in 2...400 { other.send(Line.increment(id: index, #","ack":false"#)) }
        bus.disk = .works
        _ = try other.all()
        client.isReading = false
        subscribe(client, bus, since: 1)
        for _ in 401...410 { try other.increment() }
        client.isReading = true
        for _ in 411...420 { try other.increment() }
        #expect(try revisions(client) == Array(2...420))
        #expect(!client.isEnded)
    }

    @Test func gapIsToldWhereHistoryIsGone() throws {
        let bus = try MemoryBus.logging("counter/a")
        let other = bus.connect()
        for _ in 2...9 { try other.increment() }
        let log = try #require(bus.written)
        log.takeSnapshot(try bus.past(at: 5))
        log.forget(before: 5)
        let next = try bus.crash()
        let client = next.connect()
        subscribe(client, bus, since: 2)
        let events = try client.all().filter { $0["event"] != nil }
        #expect(events.first?["event"] == "gap")
        #expect(events.dropFirst().compactMap { $0["revision"]?.int } == [6, 7, 8, 9])
    }

    /// Who is still being told of the past when a write fails goes on being told, and of nothing that did not happen.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func failureMeanwhileCostsNothing() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 4096 }
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 2...300 { try other.increment() }
        client.isReading = false
        subscribe(client, bus, since: 1)
        bus.disk = .isBusy
        for _ in 0..<3 { other.send(Line.increment) }
        bus.disk = .fails
        bus.disk = .works
        client.isReading = true
        _ = try other.all()
        try other.increment()
        #expect(try revisions(client) == Array(2...301))
    }

    @Test func changesSinceAreToldAsOne() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b")
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 0..<3 { try other.increment() }
        for bus in [bus, try bus.crash()] {
            let lines = try bus.connect().ask(
                #"{"op":"subscribe","type":"counter","since":2,"epoch":"\#(bus.epoch)"}"#)
            #expect(lines.count == 2)
            #expect(lines[1]["from"] == 2 && lines[1]["revision"] == 5 && lines[1]["coalesced"] == 3)
            #expect(lines[1]["states"] == ["counter/a": ["count": 3, "isEven": false]])
            let strange = try bus.connect().ask(#"{"op":"subscribe","type":"counter","since":2,"epoch":"x"}"#)
            #expect(strange[1]["reset"] == true)
            let future = try bus.connect().ask(
                #"{"op":"subscribe","type":"counter","since":99,"epoch":"\#(bus.epoch)"}"#)
            #expect(future[1]["reset"] == true)
        }
        #expect(try client.isUsable())
    }
}
