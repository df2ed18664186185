import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 2: a commit touches all its stores or none, and is seen whole or not at all.
@Suite(.inBothModes) struct AtomicityTests {
    @Test func refusedBatchChangesNothing() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b", "thermostat/t")
        let client = bus.connect()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","initial":false}"#)
        let error = try client.reply(
            to: """
                {"op":"dispatch","actions":[{"type":"counter","action":"increment"},\
                {"store":"counter/a","action":"increment","payload":{"by":9}},\
                {"store":"thermostat/t","action":"setTarget","payload":{"celsius":99}}]}
                """)
        #expect(error["error"]?["code"] == "rejected")
        #expect(error["error"]?["index"] == 2)
        #expect(error["error"]?["store"] == "thermostat/t")
        #expect(try watcher.all().isEmpty)
        #expect(try client.state(of: "counter/a") == ["count": 0, "isEven": true])
        #expect(try client.revision(after: #"{"op":"sync"}"#) == 3)
        // What was taken back leaves no trace in the next commit.
        try client.increment("counter/a", by: 2)
        #expect(try watcher.next()?["changes"] == ["counter/a": ["count": 2]])
    }

    /// A payload that the action does not take as it stands is held against its schema as it was sent, not as if it were absent.
    @Test func batchRefusesAPayloadThatDoesNotFit() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let error = try client.reply(
            to: """
                {"op":"dispatch","actions":[{"store":"counter/a","action":"increment","payload":{"by":2}},\
                {"store":"counter/a","action":"increment","payload":{"by":"two"}}]}
                """)
        #expect(error["error"]?["code"] == "invalid_payload")
        #expect(error["error"]?["index"] == 1)
        #expect(try client.state(of: "counter/a") == ["count": 0, "isEven": true])
    }

    /// One of many stores refuses; those before it have been written already.
    @Test func refusalByOneStoreRefusesForAll() throws {
        let bus = try MemoryBus()
        let client = bus.connect()
        for index in 0..<100 { try client.revision(after: #"{"op":"create","store":"door/d\#(index)"}"#) }
        try client.revision(after: #"{"op":"dispatch","store":"door/d70","action":"lock"}"#)
        let error = try client.reply(to: #"{"op":"dispatch","type":"door","action":"open"}"#)
        #expect(error["error"]?["code"] == "rejected")
        #expect(error["error"]?["store"] == "door/d70")
        #expect(try client.state(of: "door/d3")?["isOpen"] == false)
        #expect(try client.state(of: "door/d3")?["openings"] == 0)
    }

    @Test func invalidPayloadOfOneTypeRefusesForAllTypes() throws {
        let bus = try MemoryBus.with("counter/a", "gauge/g") {
            $0.definitions = [
                "type: gauge\ninitial: { x: 0 }\nactions: { increment: { payload: { to: integer } } }"
            ]
        }
        let client = bus.connect()
        #expect(
            try client.code(of: #"{"op":"dispatch","type":"*","action":"increment"}"#) == "invalid_payload")
        #expect(try client.state(of: "counter/a")?["count"] == 0)
    }

    @Test func commitOverManyStoresArrivesWhole() throws {
        let bus = try MemoryBus()
        let client = bus.connect()
        for index in 0..<1000 { try client.revision(after: #"{"op":"create","store":"counter/c\#(index)"}"#) }
        try client.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        let lines = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(lines.count == 2)
        #expect(lines[0]["changes"]?.object?.count == 1000)
        #expect(lines[1]["matched"] == 1000)
        #expect(lines[1]["changed"] == 1000)
    }

    /// Cut into parts, it still is one event: one `from`, one end, every store once at least.
    @Test func commitLongerThanALineArrivesInParts() throws {
        let bus = try MemoryBus.with { $0.limits.daemon.line = 4096 }
        let client = bus.connect()
        for index in 0..<400 { try client.revision(after: #"{"op":"create","store":"counter/c\#(index)"}"#) }
        try client.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        var parts: [JSON] = []
        while let line = client.nextLine() {
            #expect(line.utf8.count <= 4096)
            parts.append(try JSON(parsing: line))
        }
        let reply = parts.removeLast()
        #expect(reply["changed"] == 400)
        #expect(parts.count > 2)
        #expect(parts.dropLast().allSatisfy { $0["more"] == true })
        #expect(parts.last?["more"] == nil)
        #expect(parts.first?["from"] == 400)
        #expect(parts.dropFirst().allSatisfy { $0["from"] == nil })
        #expect(parts.last?["revision"] == 401)
        let stores = parts.flatMap { (part: JSON) -> [String] in part["changes"]?.object?.keys ?? [] }
        #expect(Set(stores).count == 400)
    }

    @Test func dryRunLeavesNothingBehind() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        let reply = try client.reply(
            to: #"{"op":"dispatch","type":"counter","action":"increment","dryRun":true}"#)
        #expect(reply["changed"] == 2)
        #expect(reply["changes"]?.object?.count == 2)
        #expect(try watcher.all().isEmpty)
        #expect(try client.state(of: "counter/b")?["count"] == 0)
        #expect(try client.revision(after: #"{"op":"sync"}"#) == 2)
    }
}
