import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantees 1 and 5: one order for everybody, and who has read a reply has seen what led to it.
@Suite(.inBothModes) struct OrderTests {
    @Test func everySubscriberSeesCommitsInRevisionOrder() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let watchers = [bus.connect(), bus.connect(), bus.connect()]
        for watcher in watchers { try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#) }
        let (one, other) = (bus.connect(), bus.connect())
        for _ in 0..<20 {
            try one.increment("counter/a")
            try other.increment("counter/b")
        }
        for watcher in watchers {
            let events = try watcher.all()
            #expect(events.map { $0["revision"]?.int } == Array(3...42))
            #expect(events.map { $0["from"]?.int } == Array(2...41))
        }
    }

    @Test func revisionsHaveNoHoles() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        #expect(try client.increment() == 2)
        #expect(
            try client.code(of: #"{"op":"dispatch","store":"counter/z","action":"reset"}"#) == "unknown_store"
        )
        #expect(try client.revision(after: #"{"op":"dispatch","type":"door","action":"rang"}"#) == 3)
        #expect(try client.revision(after: #"{"op":"create","store":"counter/b"}"#) == 4)
        #expect(try client.code(of: #"{"op":"create","store":"counter/b"}"#) == "exists")
        #expect(try client.revision(after: #"{"op":"drop","store":"counter/b"}"#) == 5)
        #expect(try client.revision(after: #"{"op":"sync"}"#) == 5)
    }

    @Test func eventsComeBeforeTheReplyThatBearsTheirRevision() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        try client.ask(#"{"op":"subscribe","store":"counter/a","initial":false}"#)
        // Another client's commit is told before the reply to whatever comes next.
        let other = bus.connect()
        try other.increment()
        for request in [
            #"{"op":"dispatch","type":"counter","action":"increment"}"#, #"{"op":"sync"}"#,
            #"{"op":"get","store":"counter/a"}"#, #"{"op":"create","store":"counter/b"}"#,
        ] {
            var seen = 0
            for line in try client.ask(request) {
                if line["event"] != nil { seen = line["revision"]?.int ?? 0 }
                guard line["ok"] != nil, let revision = line["revision"]?.int else { continue }
                // The creation concerns another store, so nothing has to be seen of it.
                #expect(seen == 0 || seen == revision || revision == 4)
            }
            #expect(try client.all().isEmpty)
        }
    }

    /// Also actions that come from the log, because it takes long to tell others of the commit.
    @Test func actionsFromTheLogComeBeforeTheReply() throws {
        let bus = try MemoryBus.logging("value/v")
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","type":"value"}"#)
        try client.ask(#"{"op":"subscribe","type":"value","actions":true}"#)
        let text = String(repeating: "x", count: 600_000)
        client.send(
            #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":"\#(text)"},"id":7}"#)
        client.send(#"{"op":"sync","id":8}"#)
        let lines = try client.all()
        #expect(lines.map { $0["event"]?.string ?? "\($0["id"] ?? "")" } == ["action", "7", "8"])
    }

    /// A slow reader gets its actions from the log, behind requests that are on their way already.
    @Test func noReplyOvertakesTheActionsOfASlowReader() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 4096 }
        let client = bus.connect()
        try client.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        client.isReading = false
        for _ in 0..<200 { client.queue(Line.increment) }
        client.send(#"{"op":"sync"}"#)
        client.isReading = true
        var seen = 0
        for line in try client.all() {
            guard let revision = line["revision"]?.int else { continue }
            if line["event"] == "action" { seen = revision } else { #expect(seen >= revision, "\(line)") }
        }
        #expect(seen == 201)
    }

    /// In one burst of requests every reply stands directly behind its own events.
    @Test(.aloneOnly(because: "What one proposal commits is told before its replies leave, together."))
    func pipelinedRepliesStandBehindTheirOwnEvents() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        try client.ask(#"{"op":"subscribe","store":"counter/a","initial":false}"#)
        let line = #"{"op":"dispatch","store":"counter/a","action":"increment"}"# + "\n"
        client.send(bytes: Array(String(repeating: line, count: 50).utf8))
        let lines = try client.all()
        #expect(lines.count == 100)
        for (event, reply) in zip(lines.striding(from: 0), lines.striding(from: 1)) {
            #expect(event["event"] == "change")
            #expect(reply["ok"] == true)
            #expect(event["revision"] == reply["revision"])
        }
    }

    @Test func repliesComeInTheOrderOfRequests() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        var text = ""
        for id in 0..<40 {
            text +=
                [
                    #"{"id":\#(id),"op":"ping"}"#, #"{"id":\#(id),"op":"nothing"}"#,
                    #"{"id":\#(id),"op":"stats"}"#,
                ][
                    id % 3] + "\n"
        }
        client.send(bytes: Array(text.utf8))
        #expect(try client.all().map { $0["id"]?.int } == Array(0..<40))
    }

    @Test func oneRevisionsEventsGoByAscendingSub() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let client = bus.connect()
        let other = bus.connect()
        // Another client has the same shapes, in another order.
        for request in [
            #"{"op":"subscribe","store":"counter/a","initial":false}"#,
            #"{"op":"subscribe","type":"counter","actions":true}"#,
            #"{"op":"subscribe","match":"*/a","initial":false,"format":"patch"}"#,
            #"{"op":"subscribe","type":"counter","initial":false}"#,
        ] { try client.ask(request) }
        for request in [
            #"{"op":"subscribe","type":"counter","initial":false}"#,
            #"{"op":"subscribe","match":"*/a","initial":false,"format":"patch"}"#,
            #"{"op":"subscribe","store":"counter/a","initial":false}"#,
        ] { try other.ask(request) }
        bus.connect().send(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(try client.all().map { $0["sub"]?.int } == [1, 2, 3, 4])
        #expect(try other.all().map { $0["sub"]?.int } == [1, 2, 3])
    }
}

extension Array {
    /// Every second element.
    fileprivate func striding(from start: Int) -> [Element] {
        stride(from: start, to: count, by: 2).map { self[$0] }
    }
}
