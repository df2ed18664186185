import BusJSON
import TestModes
import TestSupport
import Testing

/// `clients` and `kick`, on a bus without access rules.
@Suite(.inBothModes) struct ClientsTests {
    private func clients(_ client: MemoryClient, _ members: String = "") throws -> [JSON] {
        try #require(try client.reply(to: #"{"op":"clients"\#(members)}"#)["clients"]?.array)
    }

    @Test func whatAClientDoesIsCounted() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let (writer, reader) = (bus.connect(uid: 7), bus.connect(uid: 8))
        try reader.reply(to: #"{"op":"hello","client":"panel"}"#)
        try reader.reply(to: #"{"op":"subscribe","type":"counter","initial":false}"#)
        try reader.reply(to: #"{"op":"subscribe","match":"door/f*","initial":false}"#)
        bus.advance(milliseconds: 2500)
        for _ in 0..<3 { try writer.increment() }
        try writer.revision(after: #"{"op":"dispatch","type":"counter","action":"increment","key":"k"}"#)
        try writer.revision(after: #"{"op":"dispatch","type":"counter","action":"increment","key":"k"}"#)
        #expect(try writer.code(of: #"{"op":"dispatch","type":"counter","action":"none"}"#) != nil)
        let listed = try clients(writer)
        #expect(listed.count == 2)
        #expect(listed[0]["dispatched"] == 5)
        #expect(listed[0]["self"] == true)
        #expect(listed[0]["idle"] == 0)
        #expect(listed[1]["client"] == "panel")
        #expect(listed[1]["by"]?["uid"] == 8)
        #expect(listed[1]["idle"] == 2.5)
        #expect(listed[1]["delivered"] == 4)
        #expect(listed[1]["subscriptions"] == 2)
        #expect(listed[1]["watches"] == ["counter/*", "door/f*"])
        #expect(listed[1]["self"] == nil)
    }

    /// Who did something: by the name of the user and of the program, and what the client says of itself. For whom it speaks is
    /// said once: a browser behind a web server can't hide where it is.
    @Test func whoDidSomethingStaysMeaningful() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a"]
        setup.users = [7: ("ada", [])]
        setup.log = MemoryLog()
        let bus = try MemoryBus(setup)
        let client = bus.connect(.unix(uid: 7, pid: 8), comm: "python3")
        let watcher = bus.connect(uid: 9)
        try watcher.ask(#"{"op":"subscribe","store":"counter/a","actions":true,"initial":false}"#)
        func by() throws -> JSONObject? {
            try client.increment()
            var by = try watcher.all().last { $0["event"] == "action" }?["by"]?.object
            by?["member"] = nil
            return by
        }
        let known: JSONObject = ["uid": 7, "user": "ada", "pid": 8, "comm": "python3"]
        var wanted = known
        #expect(try by() == wanted)
        let hello = #"{"op":"hello","client":"panel","via":"192.0.2.7:1"}"#
        (wanted["client"], wanted["via"]) = ("panel", "192.0.2.7:1")
        #expect(try client.reply(to: hello)["identity"]?.object == wanted)
        #expect(try by() == wanted)
        try client.reply(
            to: #"{"op":"hello","client":"\#(String(repeating: "é", count: 200))","via":"[::1]:2"}"#)
        wanted["client"] = .string(String(repeating: "é", count: 128))
        #expect(try by() == wanted)
        try client.reply(to: #"{"op":"hello"}"#)
        #expect(try by() == wanted)
        for (name, count) in [("panel", 1), ("python3", 4), ("ada", 4), ("192.0.2.7:1", 3), ("root", 0)] {
            let reply = try watcher.reply(to: #"{"op":"history","by":"\#(name)"}"#)
            #expect(reply["commits"]?.array?.count == count, "\(name)")
        }
    }

    /// However events are delivered, they are counted for who gets them.
    @Test func deliveriesAreCountedAlone_togetherAndWhileLagging() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let writer = bus.connect(uid: 7)
        let readers = (0..<5).map { _ in bus.connect(uid: 8) }
        for reader in readers {
            try reader.reply(to: #"{"op":"subscribe","type":"counter","initial":false}"#)
        }
        let both = bus.connect(uid: 9)
        try both.reply(to: #"{"op":"subscribe","type":"counter","initial":false}"#)
        try both.reply(to: #"{"op":"subscribe","type":"door","actions":true}"#)
        for _ in 0..<50 { writer.queue(Line.increment) }
        writer.send(#"{"op":"dispatch","store":"door/front","action":"rang"}"#)
        var had: [Int] = []
        for client in readers + [both] { had.append(try client.all().count { $0["event"] != nil }) }
        #expect(had == [50, 50, 50, 50, 50, 51])
        #expect(try clients(writer).dropFirst().map { $0["delivered"]?.int } == had)
    }

    @Test func waitingAndHeldBytesAreTold() throws {
        let bus = try MemoryBus.with("value/a")
        let (writer, reader) = (bus.connect(uid: 7), bus.connect(uid: 8))
        try reader.reply(to: #"{"op":"subscribe","type":"value","initial":false}"#)
        reader.isReading = false
        let text = String(repeating: "x", count: 1000)
        try writer.revision(
            after: #"{"op":"dispatch","store":"value/a","action":"set","payload":{"value":"\#(text)"}}"#)
        reader.send(bytes: Array(#"{"op":"ping""#.utf8))
        let listed = try clients(writer)
        let waiting = try #require(listed[1]["waiting"]?.int)
        #expect(waiting > 1000)
        #expect(listed[1]["held"] == 12)
        reader.isReading = true
        #expect(try clients(writer)[1]["waiting"] == 0)
    }

    @Test func pagesTellEveryClientOnce() throws {
        let bus = try MemoryBus.with("counter/a")
        var all = (0..<25).map { _ in bus.connect(uid: 7) }
        all.remove(at: 12).close()
        all.remove(at: 3).close()
        _ = bus.connect(uid: 7)
        for limit in [1, 7, 24, 1000] {
            var (ids, after): ([Int], Int?) = ([], 0)
            while let last = after {
                let reply = try all[0].reply(to: #"{"op":"clients","limit":\#(limit),"after":\#(last)}"#)
                ids += try #require(reply["clients"]?.array).compactMap { $0["id"]?.int }
                after = reply["next"]?.int
            }
            #expect(ids == (1...26).filter { $0 != 4 && $0 != 13 }, "\(limit)")
        }
        #expect(try all[0].code(of: #"{"op":"clients","limit":1001}"#) == "invalid_request")
        #expect(try all[0].code(of: #"{"op":"clients","limit":0}"#) == "invalid_request")
        #expect(try all[0].code(of: #"{"op":"clients","after":"x"}"#) == "invalid_request")
    }

    /// A reply that would be longer than a line has `next` instead.
    @Test func pagesFitIntoALine() throws {
        let bus = try MemoryBus.with("counter/a") { $0.limits.daemon.line = 4096 }
        let name = String(repeating: "é", count: 500)
        let all = try (0..<40).map { _ in
            let client = bus.connect(uid: 7)
            try client.reply(to: #"{"op":"hello","client":"\#(name)"}"#)
            return client
        }
        var (ids, after): ([Int], Int?) = ([], 0)
        while let last = after {
            all[0].send(#"{"op":"clients","after":\#(last)}"#)
            let line = try #require(all[0].nextLine())
            #expect(line.utf8.count < 4096)
            let reply = try JSON(parsing: line)
            let clients = try #require(reply["clients"]?.array)
            #expect(!clients.isEmpty)
            #expect(clients.allSatisfy { $0["client"]?.string?.count == 128 })
            ids += clients.compactMap { $0["id"]?.int }
            after = reply["next"]?.int
        }
        #expect(ids == Array(1...40))
    }

    // MARK: kick

    @Test func aKickIsAGoodbyeWithItsReason() throws {
        let bus = try MemoryBus.with("counter/a")
        let (root, client) = (bus.connect(uid: 0), bus.connect(uid: 8))
        try client.reply(
            to: #"{"op":"will","actions":[{"store":"counter/a","action":"increment","payload":{"by":5}}]}"#)
        #expect(
            try root.reply(to: #"{"id":4,"op":"kick","client":2,"reason":"Too loud."}"#) == [
                "id": 4, "ok": true,
            ])
        #expect(try client.all() == [["event": "goodbye", "code": "kicked", "message": "Too loud."]])
        #expect(client.isEnded)
        // It ends as any other connection: with its will.
        #expect(try root.state(of: "counter/a")?["count"] == 5)
        #expect(try root.code(of: #"{"op":"kick","client":2}"#) == "unknown_client")
        #expect(try clients(root).count == 1)
    }

    @Test func othersMayKickTheirOwnOnly() throws {
        let bus = try MemoryBus.with("counter/a")
        let (client, own, others) = (bus.connect(uid: 7), bus.connect(uid: 7), bus.connect(uid: 8))
        #expect(try client.code(of: #"{"op":"kick","client":3}"#) == "forbidden")
        #expect(try client.code(of: #"{"op":"kick","client":2}"#) == nil)
        #expect(own.isEnded)
        #expect(!others.isEnded)
        let daemon = bus.connect(uid: MemoryBus.ownUID)
        #expect(try daemon.code(of: #"{"op":"kick","client":3}"#) == nil)
        #expect(others.isEnded)
    }

    @Test func whoKicksItselfIsAnsweredFirst() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect(uid: 7)
        let lines = try client.ask(#"{"id":1,"op":"kick","client":1}"#)
        #expect(lines.count == 2)
        #expect(lines.first == ["id": 1, "ok": true])
        #expect(lines.last?["code"] == "kicked")
        #expect(client.isEnded)
    }

    @Test func mistakesInAKickAreNamed() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect(uid: 0)
        let long = String(repeating: "x", count: 1025)
        for (members, member) in [
            ("", "client"), (#","client":"1""#, "client"), (#","client":-1"#, "client"),
            (#","client":1,"reason":7"#, "reason"), (#","client":1,"reason":"\#(long)""#, "reason"),
        ] {
            let error = try client.reply(to: #"{"op":"kick"\#(members)}"#)["error"]
            #expect(error?["code"] == "invalid_request", "\(members)")
            #expect(error?["member"]?.string == member, "\(members)")
        }
        #expect(try client.code(of: #"{"op":"kick","client":99}"#) == "unknown_client")
        #expect(try client.isUsable())
    }

    /// Many subscribers that share their bytes: one of them is taken out of the middle.
    @Test func aKickInTheMiddleOfAMulticastHurtsNobodyElse() throws {
        let bus = try MemoryBus.with("counter/a")
        let root = bus.connect(uid: 0)
        let readers = (0..<6).map { _ in bus.connect(uid: 8) }
        for reader in readers {
            try reader.reply(to: #"{"op":"subscribe","type":"counter","initial":false}"#)
        }
        for _ in 0..<10 { root.queue(Line.increment) }
        root.queue(#"{"op":"kick","client":4}"#)
        for _ in 0..<10 { root.queue(Line.increment) }
        root.send(Line.sync)
        for (place, reader) in readers.enumerated() {
            let events = try reader.all()
            #expect(events.count == (place == 2 ? 11 : 20))
            let counts = events.compactMap { $0["changes"]?["counter/a"]?["count"]?.int }
            #expect(counts == Array(1...(place == 2 ? 10 : 20)))
        }
    }
}
