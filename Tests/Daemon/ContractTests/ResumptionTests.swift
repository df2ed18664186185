import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 6: from any revision of this epoch a subscription goes on, else it starts over and says so.
@Suite(.inBothModes) struct ResumptionTests {
    private func subscription(since revision: Int, epoch: String) -> String {
        #"{"op":"subscribe","type":"counter","since":\#(revision),"epoch":"\#(epoch)"}"#
    }

    @Test func resumeGivesExactlyWhatChanged() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b", "counter/c")
        let client = bus.connect()
        try client.increment("counter/a")
        try client.increment("counter/b")
        try client.increment("counter/b")
        let back = try bus.connect().ask(subscription(since: 4, epoch: bus.epoch))
        try #require(back.count == 2)
        #expect(back[0]["revision"] == 6)
        #expect(back[1]["from"] == 4)
        #expect(back[1]["revision"] == 6)
        #expect(back[1]["reset"] == nil)
        #expect(addresses(back[1]) == ["counter/b"])
    }

    /// From every revision on, the mirror that had been kept until then becomes the truth.
    @Test func resumeFromEveryRevisionLeadsToTheSameStates() throws {
        let bus = try MemoryBus()
        let (client, watcher) = (bus.connect(), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(#"{"op":"subscribe","type":"counter"}"#))
        var past = [mirror]
        var random = SeededGenerator(seed: 3)
        for _ in 0..<120 {
            let name = ["a", "b", "c", "d"].randomElement(using: &random)!
            let request = [
                #"{"op":"create","store":"counter/\#(name)"}"#, #"{"op":"drop","store":"counter/\#(name)"}"#,
                #"{"op":"dispatch","store":"counter/\#(name)","action":"increment"}"#,
                #"{"op":"dispatch","type":"counter","action":"increment"}"#,
            ].randomElement(using: &random)!
            try client.ask(request)
            try mirror.take(watcher.all())
            past.append(mirror)
        }
        for var mirror in past {
            let revision = try #require(mirror.revision)
            let returning = bus.connect()
            try mirror.take(returning.ask(subscription(since: revision, epoch: bus.epoch)))
            #expect(mirror.states == past.last?.states, "since \(revision)")
            returning.close()
        }
    }

    @Test func resumeWithNothingChangedIsAnEmptyChange() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let client = bus.connect()
        try client.ask(#"{"op":"dispatch","type":"door","action":"open"}"#)
        let lines = try client.ask(subscription(since: 2, epoch: bus.epoch))
        #expect(lines.count == 2)
        #expect(lines[1]["from"] == 2)
        #expect(lines[1]["revision"] == 3)
        #expect(addresses(lines[1]).isEmpty)
        #expect(lines[1]["reset"] == nil)
        #expect(try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)[0]["from"] == 3)
    }

    @Test func resumeFromAnotherEpochIsReset() throws {
        let bus = try MemoryBus.with("counter/a")
        let lines = try bus.connect().ask(subscription(since: 1, epoch: "somewhere else"))
        #expect(lines[0]["ok"] == true)
        #expect(lines[0]["epoch"] == .string(bus.epoch))
        #expect(lines[1]["reset"] == true)
        #expect(lines[1]["from"] == 0)
        #expect(lines[1]["states"]?["counter/a"] != nil)
    }

    @Test func resumeFromTheFutureIsReset() throws {
        let bus = try MemoryBus.with("counter/a")
        let lines = try bus.connect().ask(subscription(since: 2, epoch: bus.epoch))
        #expect(lines[0]["ok"] == true)
        #expect(lines[1]["reset"] == true)
    }

    @Test func sinceWithoutEpochIsRefusedByName() throws {
        let bus = try MemoryBus.with("counter/a")
        let reply = try bus.connect().reply(to: #"{"op":"subscribe","type":"counter","since":1}"#)
        #expect(reply["error"]?["code"] == "invalid_request")
        #expect(reply["error"]?["message"]?.string?.contains("epoch") == true)
    }

    // MARK: Bookmarks

    @Test func bookmarkAfterThousandCommits() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        bus.advance(milliseconds: 100)
        for _ in 0..<999 { client.send(#"{"op":"dispatch","type":"door","action":"rang","ack":false}"#) }
        #expect(try watcher.all().isEmpty)
        client.send(#"{"op":"dispatch","type":"door","action":"rang","ack":false}"#)
        #expect(try watcher.all() == [["event": "bookmark", "sub": 1, "revision": 1002]])
        try client.increment()
        #expect(try watcher.next()?["from"] == 1002)
    }

    /// However many commits there are, there is a pause between two bookmarks: a busy bus has better things to do.
    @Test func bookmarksKeepTheirDistance() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        func ring(_ count: Int) {
            let line = #"{"op":"dispatch","type":"door","action":"rang","ack":false}"# + "\n"
            client.send(bytes: Array(String(repeating: line, count: count).utf8))
        }
        for round in 1...3 {
            ring(2500)
            bus.advance(milliseconds: 99)
            #expect(try watcher.all().isEmpty)
            bus.advance(milliseconds: 1)
            let revision = bus.engine.revision
            #expect(revision == 2 + round * 2500)
            #expect(try watcher.all() == [["event": "bookmark", "sub": 1, "revision": .int(revision)]])
        }
        bus.advance(milliseconds: 300_000)
        #expect(try watcher.all().isEmpty)
    }

    @Test func bookmarkAfterThirtySeconds() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        try client.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#)
        bus.advance(milliseconds: 29_999)
        #expect(try watcher.all().isEmpty)
        bus.advance(milliseconds: 1)
        #expect(try watcher.all() == [["event": "bookmark", "sub": 1, "revision": 3]])
        // Nothing is committed any more: nothing more has to be said.
        bus.advance(milliseconds: 300_000)
        #expect(try watcher.all().isEmpty)
        try client.increment()
        #expect(try watcher.next()?["from"] == 3)
    }

    /// The thirty seconds count from the subscription, not from the commit that it has to be told of.
    @Test func bookmarkComesThirtySecondsAfterTheLastEvent() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        bus.advance(milliseconds: 20_000)
        try client.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#)
        bus.advance(milliseconds: 10_000)
        #expect(try watcher.all() == [["event": "bookmark", "sub": 1, "revision": 3]])
    }

    @Test func bookmarkIsAPlaceToResumeFrom() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        try client.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#)
        bus.advance(milliseconds: 30_000)
        let bookmark = try #require(try watcher.next()?["revision"]?.int)
        watcher.close()
        try client.increment()
        let lines = try bus.connect().ask(subscription(since: bookmark, epoch: bus.epoch))
        #expect(addresses(lines[1]) == ["counter/a"])
    }

    private func addresses(_ event: JSON) -> [String] {
        ((event["states"]?.object?.keys ?? []) + (event["changes"]?.object?.keys ?? [])
            + (event["dropped"]?.array ?? []).compactMap(\.string)).sorted()
    }
}
