import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// The order of what one connection is told, where several of its subscriptions have something to tell.
@Suite(.inBothModes) struct OrderTests {
    private func places(_ events: [JSON]) -> [[Int]] {
        events.filter { $0["event"] != nil }.map { [$0["revision"]?.int ?? -1, $0["sub"]?.int ?? -1] }
    }

    private func isAscending(_ places: [[Int]]) -> Bool {
        zip(places, places.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) }
    }

    @Test func bookmarksAndChangesOfOneCommitGoBySubscription() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a", "counter/b"]
        let bus = try MemoryBus(setup)
        let (watcher, client) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","store":"counter/a"}"#)
        try watcher.ask(#"{"op":"subscribe","store":"counter/b"}"#)
        try watcher.ask(#"{"op":"subscribe","match":"counter/a*"}"#)
        bus.advance(milliseconds: 100)
        for _ in 0..<1000 { client.send(#"{"op":"dispatch","store":"counter/b","action":"increment"}"#) }
        let events = try watcher.all()
        #expect(events.filter { $0["event"] == "bookmark" }.count == 2)
        #expect(isAscending(places(events)))
    }

    @Test func bookmarksOfTimeGoBySubscription() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a"]
        let bus = try MemoryBus(setup)
        let (watcher, client) = (bus.connect(), bus.connect())
        for number in 0..<20 { try watcher.ask(#"{"op":"subscribe","store":"counter/quiet\#(number)"}"#) }
        try client.ask(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        _ = try watcher.all()
        bus.advance(milliseconds: 31_000)
        let events = try watcher.all()
        #expect(events.count == 20)
        #expect(isAscending(places(events)))
    }

    /// One subscription lags; another one of the same connection must not overtake it when room comes back.
    @Test func whatLagsIsNotOvertakenOnItsConnection() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 1000
        setup.stores = ["counter/a", "counter/b"]
        let bus = try MemoryBus(setup)
        let engine = bus.engine
        let (watcher, client) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","store":"counter/a"}"#)
        try watcher.ask(#"{"op":"subscribe","store":"counter/b"}"#)
        watcher.isReading = false
        func increment(_ name: String) {
            client.send(#"{"op":"dispatch","store":"counter/\#(name)","action":"increment"}"#)
        }
        for _ in 0..<30 { increment("a") }
        // A little is read: less than what lets the connection catch up.
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 1)
        defer { pieces.deallocate() }
        #expect(engine.output(of: watcher.connection, into: pieces) == 1)
        var taken = Array(UnsafeRawBufferPointer(start: pieces[0].base, count: pieces[0].count).prefix(300))
        engine.sent(watcher.connection, 300)
        increment("b")
        watcher.isReading = true
        while let line = watcher.nextLine() { taken += Array(line.utf8) + [10] }
        let events = try taken.split(separator: 10).map { try JSON(parsing: Array($0)) }
        #expect(events.last?["sub"] == 2)
        #expect(isAscending(places(events)))
    }

    /// On a shared bus one proposal takes some of them, and those left are proposed again.
    @Test func wideDispatchesAreAnsweredInTheirOrder() throws {
        var setup = MemoryBus.Setup()
        setup.stores = (0..<1000).map { "counter/s\($0)" }
        let bus = try MemoryBus(setup)
        let (client, other) = (bus.connect(), bus.connect())
        let lines = (0..<300).map { #"{"op":"dispatch","id":\#($0),"type":"counter","action":"increment"}"# }
        client.send(lines.joined(separator: "\n"))
        other.send(#"{"op":"dispatch","store":"counter/s1","action":"increment"}"#)
        let replies = try client.all()
        #expect(replies.compactMap { $0["id"]?.int } == Array(0..<300))
        #expect(replies.allSatisfy { $0["ok"] == true })
        let revisions = replies.compactMap { $0["revision"]?.int }
        #expect(revisions == revisions.sorted() && Set(revisions).count == 300)
        #expect(bus.engine.state(at: "counter/s2")?["count"] == 300)
        #expect(try other.all().last?["ok"] == true)
    }

    @Test func aResetInPartsBeginsAgainWhenDropsAreForgotten() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.line = 2000
        setup.limits.daemon.outbox = 1000
        setup.stores = (0..<100).map { "counter/s\($0)" }
        let bus = try MemoryBus(setup)
        let (watcher, client) = (bus.connect(), bus.connect(uid: 0))
        watcher.isReading = false
        watcher.send(#"{"op":"subscribe","type":"counter"}"#)
        client.send(#"{"op":"drop","store":"counter/s0"}"#)
        let pair = #"{"op":"create","store":"counter/x"}"# + "\n" + #"{"op":"drop","store":"counter/x"}"#
        let (pairs, perPart) = (BusLimits.rememberedDrops * 2 + 1, 500)
        for start in stride(from: 0, to: pairs, by: perPart) {
            let count = min(perPart, pairs - start)
            client.send(Array(repeating: pair, count: count).joined(separator: "\n"))
        }
        _ = try client.all()
        watcher.isReading = true
        var mirror: Set<String> = []
        for event in try watcher.all() where event["event"] == "change" {
            if event["reset"] == true { mirror = [] }
            for (member) in event["states"]?.object?.members ?? [] { mirror.insert(member.key) }
            for address in event["dropped"]?.array ?? [] { mirror.remove(address.string ?? "") }
        }
        #expect(mirror.count == 99)
        #expect(!mirror.contains("counter/s0"))
    }
}
