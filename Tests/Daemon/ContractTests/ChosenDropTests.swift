import BusJSON
import TestModes
import TestSupport
import Testing

/// `drop` with `where`: the stores of a type for which an expression holds go, in one commit.
@Suite(.inBothModes) struct ChosenDropTests {
    /// Counters a to d, which count 0 to 3.
    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging()
        let client = bus.connect(uid: 0)
        for (count, name) in ["a", "b", "c", "d"].enumerated() {
            try client.revision(
                after: #"{"op":"create","store":"counter/\#(name)","state":{"count":\#(count)}}"#)
        }
        return (bus, client)
    }

    private static func drop(_ condition: String, _ more: String = "") -> String {
        #"{"op":"drop","type":"counter","where":"\#(condition)"\#(more)}"#
    }

    private static func batch(_ elements: String..., more: String = "") -> String {
        #"{"op":"dispatch"\#(more),"actions":[\#(elements.joined(separator: ","))]}"#
    }

    private func names(_ client: MemoryClient) throws -> [String] {
        let states = try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object
        return states?.keys.map { String($0.dropFirst("counter/".count)) } ?? []
    }

    @Test func storesForWhichItHoldsGoInOneCommit() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        try watcher.ask(#"{"op":"subscribe","type":"counter","where":"count > 2","initial":false}"#)
        let reply = try client.reply(to: Self.drop("count > 1"))
        #expect(reply == ["ok": true, "revision": 5, "matched": 2, "changed": 2])
        #expect(try names(client) == ["a", "b"])
        let events = try watcher.all()
        #expect(events.map { $0["dropped"] } == [["counter/c", "counter/d"], ["counter/d"]])
        let past = try client.reply(to: #"{"op":"history","since":4}"#)["commits"]?.array
        #expect(past?.count == 1)
        let commit = try #require(past?.first)
        #expect(commit["dropped"] == ["counter/c", "counter/d"])
        #expect(commit["actions"] == [] && commit["steps"] == nil)
        #expect(try client.code(of: #"{"op":"get","store":"counter/d"}"#) == "unknown_store")
        #expect(try bus.isWhatTheLogSays())
    }

    /// So that whoever tidies up now and then leaves no trace in the log; a batch is a commit whatever it comes to.
    @Test func withoutAStoreThereIsNoCommit() throws {
        let (bus, client) = try bus()
        let nothing = Self.drop("count > 3", #","key":"k""#)
        #expect(try client.reply(to: nothing) == ["ok": true, "revision": 4, "matched": 0, "changed": 0])
        #expect(try client.reply(to: Self.drop("nothing == 1"))["revision"] == 4)
        let batch = try client.reply(to: Self.batch(Self.drop("nothing == 1")))
        #expect(batch == ["ok": true, "revision": 5, "matched": 0, "changed": 0])
        #expect(try names(client) == ["a", "b", "c", "d"])
        // Nothing of it is counted against what follows.
        let long = "store == '\(String(repeating: "x", count: 3500))'"
        for _ in 0..<6 { #expect(try client.reply(to: Self.drop(long))["matched"] == 0) }
        // Sent again it means the stores of now.
        try client.increment("counter/a", by: 9)
        #expect(try client.reply(to: nothing)["matched"] == 1)
        #expect(try client.reply(to: nothing)["duplicate"] == true)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aBatchDecidesAtItsPlace() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        let line = { (more: String) in
            Self.batch(
                #"{"store":"counter/a","action":"increment","payload":{"by":9}}"#,
                #"{"op":"create","store":"counter/e","state":{"count":8}}"#, Self.drop("count > 2"),
                #"{"type":"counter","action":"increment"}"#, more: more)
        }
        let tried = try client.reply(to: line(#","dryRun":true"#))
        #expect(tried["matched"] == 5, "\(tried)")
        #expect(tried["dropped"] == ["counter/a", "counter/d"])
        #expect(try names(client) == ["a", "b", "c", "d"])
        let reply = try client.reply(to: line(#","return":"states""#))
        #expect(reply["matched"] == 5, "\(reply)")
        #expect(reply["changed"] == 4)
        #expect(reply["dropped"] == ["counter/a", "counter/d"])
        #expect(try names(client) == ["b", "c"])
        #expect(try client.state(of: "counter/b")?["count"] == 2)
        let event = try #require(try watcher.all().first)
        #expect(event["dropped"] == ["counter/a", "counter/d"])
        #expect(event["states"] == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    /// What is behind it in a batch is planned before it is known what goes.
    @Test(
        arguments: [
            (#"{"store":"counter/d","action":"increment"}"#, "unknown_store"),
            (#"{"op":"drop","store":"counter/d"}"#, "unknown_store"),
            (#"{"op":"create","store":"counter/d"}"#, "exists"),
            (#"{"op":"create","store":"counter/d","ifMissing":true}"#, "exists"),
            (#"{"store":"counter/a","action":"increment","if":"count == 7"}"#, "conflict"),
        ])
    func whatComesBehindItFindsNoneOfThem(_ element: String, _ code: String) throws {
        let (bus, client) = try bus()
        let reply = try client.reply(to: Self.batch(Self.drop("count > 1"), element))
        #expect(reply["error"]?["code"]?.string == code, "\(reply)")
        #expect(reply["error"]?["index"] == 1, "\(reply)")
        #expect(try names(client) == ["a", "b", "c", "d"])
        #expect(try client.revision(after: Line.sync) == 4)
        #expect(try client.reply(to: Self.drop("count > 1"))["matched"] == 2)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aStoreThatStaysIsNotMissingBehindIt() throws {
        let (bus, client) = try bus()
        let create = #"{"op":"create","store":"counter/b","ifMissing":true}"#
        #expect(try client.reply(to: Self.batch(Self.drop("count > 1"), create))["matched"] == 2)
        #expect(try names(client) == ["a", "b"])
        // One that is dropped by its name first is made anew.
        let named = #"{"op":"drop","store":"counter/b"}"#
        #expect(try client.reply(to: Self.batch(named, Self.drop("count >= 0"), create))["matched"] == 2)
        #expect(try names(client) == ["b"])
        #expect(try client.state(of: "counter/b")?["count"] == 0)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aRetryIsNotCommittedAgain() throws {
        let (bus, client) = try bus()
        let line = Self.drop("count > 1", #","key":"k""#)
        #expect(try client.reply(to: line)["matched"] == 2)
        try client.revision(after: #"{"op":"create","store":"counter/e","state":{"count":5}}"#)
        #expect(
            try client.reply(to: line) == [
                "ok": true, "revision": 5, "matched": 2, "changed": 2, "duplicate": true,
            ])
        #expect(try client.code(of: Self.drop("count > 2", #","key":"k""#)) == "conflict")
        #expect(try names(client) == ["a", "b", "e"])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Without access rules a store is dropped by who made it, and by operators.
    @Test func allOfThemAreItsClientsOrNoneGoes() throws {
        let (bus, root) = try bus()
        let ada = bus.connect(uid: 4711)
        try ada.revision(after: #"{"op":"create","store":"counter/own","state":{"count":7}}"#)
        let refused = try ada.reply(to: Self.drop("count > 2"))
        #expect(refused["error"]?["code"] == "forbidden")
        #expect(refused["error"]?["index"] == nil)
        #expect(try names(root) == ["a", "b", "c", "d", "own"])
        #expect(try ada.reply(to: Self.drop("count > 3"))["matched"] == 1)
        #expect(try names(root) == ["a", "b", "c", "d"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func timersAndSessionsLoseThem() throws {
        let (bus, client) = try bus()
        let owner = bus.connect(uid: 0)
        try owner.revision(
            after: #"{"op":"create","store":"counter/e","state":{"count":9},"ephemeral":true}"#)
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/d","action":"increment","in":60,"timer":"t"}"#)
        #expect(try client.reply(to: Self.drop("count > 2"))["matched"] == 2)
        #expect(try client.reply(to: #"{"op":"timers"}"#)["timers"] == [])
        owner.close()
        #expect(try client.revision(after: Line.sync) == 7)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(
        arguments: [
            (#""type":"counter""#, "where"), (#""where":"true""#, "type"),
            (#""store":"counter/a","where":"true""#, "where"),
            (#""store":"counter/a","type":"counter","where":"true""#, "type"),
            (#""type":"counter","where":3"#, "where"), (#""type":"counter","where":"count >""#, "where"),
            (#""type":"counter","where":"true","if":"true""#, "if"),
            (#""type":"counter","where":"true","ifRevision":3"#, "ifRevision"),
            (#""type":"*","where":"true""#, "type"),
        ])
    func whatItLacksIsNamed(_ members: String, _ member: String) throws {
        let (_, client) = try bus()
        let alone = try client.reply(to: #"{"op":"drop",\#(members)}"#)["error"]
        #expect(alone?["code"] == "invalid_request", "\(alone ?? .null)")
        #expect(alone?["member"]?.string == member, "\(alone ?? .null)")
        let inside = try client.reply(to: Self.batch(#"{"op":"drop",\#(members)}"#))["error"]
        #expect(inside?["member"]?.string == "actions[0].\(member)", "\(inside ?? .null)")
        #expect(try client.code(of: #"{"op":"drop","type":"none","where":"true"}"#) == "unknown_type")
        #expect(try names(client).count == 4)
    }

    /// As many as end with a session; of more none goes.
    @Test func aCommitDropsABoundedNumber() throws {
        let (bus, client) = try bus()
        for first in stride(from: 0, to: 10_000, by: 1000) {
            let elements = (first..<first + 1000).map { #"{"op":"create","store":"counter/n\#($0)"}"# }
            try client.revision(
                after: #"{"op":"dispatch","actions":[\#(elements.joined(separator: ","))]}"#)
        }
        let refused = try client.reply(to: Self.drop("true"))
        #expect(refused["error"]?["code"] == "limit", "\(refused)")
        #expect(try client.reply(to: Self.drop("store != 'counter/a'"))["error"]?["code"] == "limit")
        #expect(try client.reply(to: Self.drop("store.startsWith('counter/n')"))["matched"] == 10_000)
        #expect(try names(client) == ["a", "b", "c", "d"])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Each `where` of a batch looks at all stores of its type.
    @Test func aBatchLooksAtABoundedNumber() throws {
        let (bus, client) = try bus()
        let elements = (0..<1000).map { #"{"op":"create","store":"counter/n\#($0)"}"# }
        try client.revision(after: #"{"op":"dispatch","actions":[\#(elements.joined(separator: ","))]}"#)
        let drops = Array(repeating: Self.drop("false"), count: 1024).joined(separator: ",")
        #expect(try client.code(of: #"{"op":"dispatch","actions":[\#(drops)]}"#) == "rejected")
        #expect(try client.reply(to: Self.batch(Self.drop("false")))["matched"] == 0)
        #expect(try client.reply(to: Self.drop("true"))["matched"] == 1004)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aViewIsNotDropped() throws {
        let bus = try MemoryBus.logging("counter/a") {
            $0.definitions = ["view: totals\nof: counter\nvalues: { all: count() }"]
        }
        let client = bus.connect(uid: 0)
        #expect(
            try client.code(of: #"{"op":"drop","type":"totals","where":"true"}"#)
                == client.code(of: #"{"op":"drop","store":"totals/all"}"#))
        #expect(try client.reply(to: Self.drop("true"))["matched"] == 1)
        #expect(try client.state(of: "totals/all") == nil)
        #expect(try bus.isWhatTheLogSays())
    }
}
