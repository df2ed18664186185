import BusJSON
import TestModes
import TestSupport
import Testing

/// Subscribers that are told the same share what is written for them in a turn. Nobody may see that: each hears every
/// commit once, in order, and before the replies that come after it.
@Suite(
    .inBothModes)
struct CohortTests {
    private static let increment = #"{"op":"dispatch","type":"counter","action":"increment"}"#
    private static let subscribe = #"{"op":"subscribe","type":"counter","initial":false}"#

    /// Sends lines that arrive together, and so are carried out in one turn.
    private func burst(_ client: MemoryClient, _ lines: [String]) {
        client.send(bytes: Array(lines.joined(separator: "\n").utf8) + [10])
    }

    private func watchers(of bus: MemoryBus, _ count: Int) throws -> [MemoryClient] {
        try (0..<count).map { _ in
            let watcher = bus.connect()
            try watcher.ask(Self.subscribe)
            return watcher
        }
    }

    /// One of them sends: its replies stand behind its events, in the middle of what all share.
    @Test(.aloneOnly(because: "What one proposal commits is told before its replies leave, together."))
    func whoSendsIsToldInOrderToo() throws {
        let bus = try MemoryBus.with("counter/a")
        let watchers = try watchers(of: bus, 3)
        burst(watchers[0], Array(repeating: Self.increment, count: 5))
        for watcher in watchers[1...] {
            let events = try watcher.all()
            #expect(events.map { $0["revision"]?.int } == Array(2...6))
            #expect(events.map { $0["from"]?.int } == Array(1...5))
        }
        let lines = try watchers[0].all()
        #expect(lines.map { $0["revision"]?.int } == [2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
        #expect(
            lines.map { $0["event"] != nil } == [
                true, false, true, false, true, false, true, false, true, false,
            ])
    }

    /// What leaves or joins in the middle of a turn takes nothing from the others.
    @Test func endingAndBeginningInOneTurnDisturbsNobody() throws {
        let bus = try MemoryBus.with("counter/a")
        let watchers = try watchers(of: bus, 3)
        burst(
            watchers[0],
            [
                Self.increment, #"{"op":"unsubscribe","sub":1}"#, Self.increment, Self.subscribe,
                Self.increment,
                #"{"op":"subscribe","store":"counter/a","initial":false}"#, Self.increment,
            ])
        for watcher in watchers[1...] {
            #expect(try watcher.all().map { $0["from"]?.int } == Array(1...4))
        }
        let events = try watchers[0].all().filter { $0["event"] != nil }
        #expect(events.map { $0["sub"]?.int } == [1, 2, 2, 3])
        #expect(events.map { $0["from"]?.int } == [1, 3, 4, 4])
        #expect(events.map { $0["revision"]?.int } == [2, 4, 5, 5])
    }

    /// Who catches up in the middle of a turn, in which the others have been told together, hears what comes next in it.
    @Test func whoCatchesUpInATurnHearsTheRest() throws {
        let bus = try MemoryBus.with("counter/a")
        let watchers = try watchers(of: bus, 3)
        let client = bus.connect()
        burst(
            client,
            [
                Self.increment, #"{"op":"subscribe","type":"counter"}"#, Self.increment, Self.increment,
            ])
        for watcher in watchers { #expect(try watcher.all().map { $0["revision"]?.int } == [2, 3, 4]) }
        let events = try client.all().filter { $0["event"] != nil }
        #expect(events.map { $0["revision"]?.int } == [2, 3, 4])
        #expect(events.map { $0["from"]?.int } == [0, 2, 3])
    }

    /// More than one run of shared bytes in one turn, with somebody among them who does not read.
    @Test func longTurnsReachEverybody() throws {
        let bus = try MemoryBus.with("counter/a")
        let watchers = try watchers(of: bus, 4)
        watchers[3].isReading = false
        let client = bus.connect()
        let commits = 6000
        burst(client, Array(repeating: Self.increment, count: commits))
        watchers[3].isReading = true
        for watcher in watchers {
            let events = try watcher.all()
            #expect(events.map { $0["revision"]?.int } == Array(2...commits + 1))
            #expect(events.last?["changes"]?["counter/a"]?["count"]?.int == commits)
        }
    }

    /// The next turn finds the right revision before, whoever was told together in the one before.
    @Test func turnsFollowEachOtherWithoutGaps() throws {
        let bus = try MemoryBus.with("counter/a")
        let early = try watchers(of: bus, 2)
        let client = bus.connect()
        burst(client, [Self.increment, Self.increment])
        let late = try watchers(of: bus, 2)
        burst(client, [Self.increment, Self.increment])
        bus.advance(milliseconds: 31_000)
        burst(client, [Self.increment])
        for watcher in early {
            #expect(
                try watcher.all().filter { $0["from"] != nil }.map { $0["from"]?.int } == [1, 2, 3, 4, 5])
        }
        for watcher in late {
            #expect(try watcher.all().filter { $0["from"] != nil }.map { $0["from"]?.int } == [3, 4, 5])
        }
    }
}
