import BusJSON
import TestModes
import TestSupport
import Testing

/// Batches that create and drop stores: as one commit, in their order, or not at all.
@Suite(.inBothModes) struct BatchStoreTests {
    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        return (bus, bus.connect(uid: 0))
    }

    private static func batch(_ elements: String..., more: String = "") -> String {
        #"{"op":"dispatch"\#(more),"actions":[\#(elements.joined(separator: ","))]}"#
    }

    private static let increment = #"{"store":"counter/b","action":"increment"}"#
    private static let create = #"{"op":"create","store":"counter/b"}"#
    private static let drop = #"{"op":"drop","store":"counter/a"}"#

    @Test func storesComeAndGoInOneCommit() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"counter","cause":true,"initial":false}"#)
        try watcher.ask(#"{"op":"subscribe","match":"*/*","actions":true}"#)
        let reply = try client.reply(
            to: Self.batch(
                #"{"op":"create","store":"counter/b","state":{"count":5}}"#, Self.increment,
                #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":10}}"#, Self.drop,
                #"{"type":"counter","action":"increment","payload":{"by":100}}"#))
        #expect(reply == ["ok": true, "revision": 3, "matched": 2, "changed": 2])
        #expect(try client.state(of: "counter/b") == ["count": 116, "isEven": true])
        #expect(try client.state(of: "counter/a") == nil)
        let events = try watcher.all()
        #expect(events.count == 4)
        #expect(events[0]["states"] == ["counter/b": ["count": 116, "isEven": true]])
        #expect(events[0]["dropped"] == ["counter/a"])
        #expect(events[0]["changes"] == nil)
        #expect(events[0]["cause"]?["actions"]?.array?.count == 3)
        #expect(events[1...].map { $0["index"]?.int } == [0, 1, 2])
        let commit = try #require(
            try client.reply(to: #"{"op":"history","since":2}"#)["commits"]?.array?.first)
        #expect(commit["created"] == ["counter/b": ["count": 5, "isEven": false]])
        #expect(commit["dropped"] == ["counter/a"])
        #expect(
            commit["steps"] == [
                ["op": "create", "store": "counter/b"], 2, ["op": "drop", "store": "counter/a"], 1,
            ])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Whatever fails, and wherever: nothing has happened, and the store can be made afterwards.
    @Test(
        arguments: [
            (#"{"op":"create","store":"counter/b"}"#, "exists", 2),
            (#"{"op":"create","store":"counter/a"}"#, "exists", 2),
            (#"{"op":"drop","store":"counter/none"}"#, "unknown_store", 2),
            (#"{"op":"create","store":"nothing/x"}"#, "unknown_type", 2),
            (#"{"op":"create","store":"x"}"#, "invalid_request", 2),
            (#"{"op":"create","store":"counter/c","state":{"no":1}}"#, "invalid_request", 2),
            (#"{"op":"create","store":"counter/c","version":1}"#, "invalid_request", 2),
            (#"{"op":"create","store":"counter/c","key":"k"}"#, "invalid_request", 2),
            (#"{"op":"create","store":"counter/c","ifMissing":3}"#, "invalid_request", 2),
            (#"{"op":"create"}"#, "invalid_request", 2), (#"{"op":"drop"}"#, "invalid_request", 2),
            (#"{"op":"get","store":"counter/a"}"#, "invalid_request", 2),
            (#"{"op":"drop","store":"counter/a","ifRevision":9}"#, "conflict", 2),
            (#"{"op":"drop","store":"counter/b","if":"count == 0"}"#, "conflict", 2),
            (#"{"store":"counter/b","action":"increment","payload":{"by":"x"}}"#, "invalid_payload", 2),
            (
                #"{"store":"counter/b","action":"increment","payload":{"by":9223372036854775807}}"#,
                "rejected", 2
            ),
            (#"{"store":"counter/b","action":"increment","if":"count > 1"}"#, "conflict", 2),
            (#"{"store":"counter/a","action":"increment"}"#, "unknown_store", 2),
        ])
    func refusedBatchLeavesNothing(_ element: String, _ code: String, _ index: Int) throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","initial":false}"#)
        // For the last the store is dropped before.
        let first =
            element.contains(#""counter/a","action""#)
            ? Self.drop : #"{"store":"counter/a","action":"increment"}"#
        let reply = try client.reply(
            to: Self.batch(
                first, #"{"op":"create","store":"counter/b","state":{"count":1},"ttl":60}"#, element))
        #expect(reply["error"]?["code"]?.string == code, "\(reply)")
        #expect(reply["error"]?["index"]?.int == index, "\(reply)")
        #expect(try watcher.all().isEmpty)
        #expect(try client.reply(to: #"{"op":"stores"}"#)["stores"]?.array?.count == 2)
        #expect(
            try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"] == [
                "counter/a": ["count": 0, "isEven": true]
            ])
        try client.revision(after: Self.batch(Self.create, Self.increment))
        #expect(
            try client.reply(to: #"{"op":"dispatch","type":"counter","action":"increment"}"#)["matched"] == 2)
        #expect(try client.state(of: "counter/b")?["count"] == 2)
        bus.advance(milliseconds: 100_000)
        #expect(try client.state(of: "counter/b")?["count"] == 2)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func storeIsReplacedInOneCommit() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","store":"counter/a","initial":false}"#)
        try client.increment()
        let reply = try client.reply(
            to: Self.batch(
                #"{"store":"counter/a","action":"increment"}"#, Self.drop,
                #"{"op":"create","store":"counter/a","state":{"count":7}}"#,
                #"{"store":"counter/a","action":"increment"}"#))
        #expect(reply["matched"] == 1)
        #expect(reply["changed"] == 1)
        let events = try watcher.all()
        #expect(events.count == 2)
        #expect(events[1]["states"] == ["counter/a": ["count": 8, "isEven": true]])
        #expect(events[1]["dropped"] == nil)
        #expect(events[1]["changes"] == nil)
        try client.increment()
        #expect(try watcher.all().last?["changes"] == ["counter/a": ["count": 9, "isEven": false]])
        // Whoever resumes is told of the store that is there.
        let late = bus.connect()
        let resumed = try late.ask(
            #"{"op":"subscribe","store":"counter/a","since":3,"epoch":"\#(bus.engine.epoch)"}"#)
        #expect(resumed.last?["states"] == ["counter/a": ["count": 9, "isEven": false]])
        #expect(resumed.last?["dropped"] == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func storeThatComesAndGoesIsToldToNobody() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","initial":false}"#)
        let reply = try client.reply(
            to: Self.batch(
                Self.create, Self.increment, #"{"op":"drop","store":"counter/b","if":"count == 1"}"#,
                Self.create, #"{"op":"drop","store":"counter/b"}"#, #"{"store":"door/d","action":"rang"}"#))
        #expect(reply["ok"] == true, "\(reply)")
        #expect(reply["matched"] == 2)
        #expect(reply["changed"] == 0)
        #expect(try watcher.all().isEmpty)
        #expect(try client.state(of: "counter/b") == nil)
        #expect(try bus.isWhatTheLogSays())
        // Commits that are alike share a line of the log.
        let before = bus.engine.revision
        let alike = Self.batch(Self.create, Self.increment, #"{"op":"drop","store":"counter/b"}"#)
        for _ in 0..<3 { client.queue(alike) }
        bus.settle()
        #expect(bus.engine.revision == before + 3)
        #expect(try client.all().allSatisfy { $0["changed"] == 0 })
        #expect(try bus.isWhatTheLogSays())
        try client.revision(after: #"{"op":"create","store":"counter/b"}"#)
        #expect(try client.state(of: "counter/b")?["count"] == 0)
    }

    @Test func dryRunShowsWhatWouldComeAndGo() throws {
        let (bus, client) = try bus()
        let line = Self.batch(Self.create, Self.increment, Self.drop, more: #","dryRun":true"#)
        for _ in 0..<2 {
            let reply = try client.reply(to: line)
            #expect(reply["matched"] == 2)
            #expect(reply["changed"] == 2)
            #expect(reply["states"] == ["counter/b": ["count": 1, "isEven": false]])
            #expect(reply["dropped"] == ["counter/a"])
            #expect(reply["changes"] == [:])
        }
        #expect(try client.reply(to: #"{"op":"stores"}"#)["stores"]?.array?.count == 2)
        #expect(try client.revision(after: Line.sync) == 2)
        try client.increment()
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func keyMakesABatchOneCommit() throws {
        let (bus, client) = try bus()
        let line = Self.batch(Self.create, Self.increment, Self.drop, more: #","key":"k""#)
        #expect(try client.reply(to: line) == ["ok": true, "revision": 3, "matched": 2, "changed": 2])
        for _ in 0..<2 {
            #expect(
                try client.reply(to: line) == [
                    "ok": true, "revision": 3, "matched": 2, "changed": 2, "duplicate": true,
                ])
        }
        #expect(try client.code(of: Self.batch(Self.create, more: #","key":"k""#)) == "conflict")
        #expect(try client.state(of: "counter/b")?["count"] == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func existingStoreIsLeftAloneWhereItMayBe() throws {
        let (bus, client) = try bus()
        try client.increment("counter/a", by: 4)
        let reply = try client.reply(
            to: Self.batch(
                #"{"op":"create","store":"counter/a","ifMissing":true,"state":{"count":9}}"#,
                #"{"op":"create","store":"counter/b","ifMissing":true,"state":{"count":9}}"#))
        #expect(reply["matched"] == 1)
        #expect(reply["changed"] == 1)
        #expect(try client.state(of: "counter/a")?["count"] == 4)
        #expect(try client.state(of: "counter/b")?["count"] == 9)
        // It is a commit, also where there was nothing to do.
        let nothing = Self.batch(
            #"{"op":"create","store":"counter/a","ifMissing":true}"#, more: #","key":"n""#)
        #expect(try client.reply(to: nothing) == ["ok": true, "revision": 5, "matched": 0, "changed": 0])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func ephemeralStoresOfABatchGoWithTheirClient() throws {
        let (bus, client) = try bus()
        let guest = bus.connect(uid: 7)
        try guest.revision(
            after: Self.batch(
                #"{"op":"create","store":"counter/b","ephemeral":true}"#,
                #"{"op":"create","store":"counter/c"}"#,
                #"{"op":"create","store":"counter/x","ephemeral":true}"#,
                #"{"op":"drop","store":"counter/x"}"#))
        #expect(try bus.isWhatTheLogSays())
        let listed = try client.reply(to: #"{"op":"stores","match":"counter/*"}"#)["stores"]?.array
        #expect(listed?.map { $0["ephemeral"]?.bool } == [false, true, false])
        guest.close()
        #expect(try client.state(of: "counter/b") == nil)
        #expect(try client.state(of: "counter/c")?["count"] == 0)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func leasesOfABatchEnd() throws {
        let (bus, client) = try bus()
        try client.revision(
            after: Self.batch(#"{"op":"create","store":"counter/b","ttl":5}"#, Self.increment))
        bus.advance(milliseconds: 4000)
        #expect(try client.state(of: "counter/b")?["count"] == 1)
        bus.advance(milliseconds: 2000)
        #expect(try client.state(of: "counter/b") == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    /// A commit of actions is atomic over what drops them, too: what others may not do refuses all.
    @Test func storesOfOthersAreNotDropped() throws {
        let (bus, _) = try bus()
        let guest = bus.connect(uid: 7)
        let reply = try guest.reply(to: Self.batch(Self.create, Self.drop))
        #expect(reply["error"]?["code"] == "forbidden")
        #expect(reply["error"]?["index"] == 1)
        try guest.revision(
            after: Self.batch(Self.create, Self.increment, #"{"op":"drop","store":"counter/b"}"#))
    }

    /// Stores that a batch drops make room for those that it creates.
    @Test func fullBusTakesAsManyAsGo() throws {
        let bus = try MemoryBus.with("counter/a", "door/d") { $0.limits.bus.stores = 2 }
        let client = bus.connect(uid: 0)
        #expect(try client.code(of: Self.batch(Self.create)) == "limit")
        #expect(try client.code(of: Self.batch(Self.create, Self.drop)) == "limit")
        #expect(try client.code(of: Self.batch(Self.drop, Self.create)) == nil)
    }
}
