import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// A restart that hands everything over is nothing a client could notice.
@Suite(.aloneOnly(because: "A member of a shared bus hands nothing over.")) struct HandOverTests {
    private let gate =
        "type: gate\ninitial: { isOpen: false }\nactions: { open: { set: { isOpen: true } } }\n"

    @Test func statesRevisionsAndEpochStay() throws {
        let bus = try MemoryBus.with("counter/a", "door/front")
        let client = bus.connect()
        try client.increment(by: 5)
        let before = try client.reply(to: #"{"op":"hello"}"#)
        let stores = try client.reply(to: #"{"op":"stores"}"#)
        try bus.restart()
        #expect(try client.reply(to: #"{"op":"hello"}"#) == before)
        #expect(try client.reply(to: #"{"op":"stores"}"#) == stores)
        #expect(try client.state(of: "counter/a")?["count"] == 5)
        #expect(try client.increment() == (try #require(before["revision"]?.int)) + 1)
    }

    @Test(arguments: ["merge", "patch", "state"])
    func subscriptionsGoOnWithoutGapOrRepetition(_ format: String) throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let (client, watcher) = (bus.connect(uid: 0), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(#"{"op":"subscribe","type":"counter","format":"\#(format)"}"#))
        for round in 0..<5 {
            try client.increment()
            try bus.restart()
            let told = try watcher.all()
            #expect(told.count == 1)
            try mirror.take(told)
            try client.revision(after: #"{"op":"create","store":"counter/\#(round)x"}"#)
            try client.ask(#"{"op":"drop","store":"counter/\#(round)x"}"#)
            try mirror.take(watcher.all())
        }
        try client.increment("counter/b", by: 7)
        let events = try watcher.all()
        #expect(events.count == 1)
        #expect(events[0]["sub"] == 1)
        // Another one gets the next number, as if nothing had been.
        #expect(try watcher.reply(to: #"{"op":"subscribe","store":"counter/a"}"#)["sub"] == 2)
    }

    /// A resumption that was not done yet has stores to tell of that are not chosen any more.
    @Test func storesThatAreNotChosenAnyMoreAreTold() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = (0..<20).map { "value/n\($0)" }
        let bus = try MemoryBus(setup)
        let (client, watcher) = (bus.connect(uid: 0), bus.connect())
        // More than goes into one part of an event.
        let text = String(repeating: "x", count: 100_000)
        func set(_ number: Int, to level: Int) throws {
            try client.ask(
                #"{"op":"dispatch","store":"value/n\#(number)","action":"set","payload":{"value":{"level":\#(level),"text":"\#(text)"}}}"#
            )
        }
        for number in 0..<20 { try set(number, to: 1) }
        let subscribe = #"{"op":"subscribe","type":"value","where":"value.level < 5""#
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(subscribe + "}"))
        #expect(mirror.states.count == 20)
        try watcher.ask(#"{"op":"unsubscribe","sub":1}"#)
        for number in 0..<20 { try set(number, to: number == 7 ? 9 : 2) }
        watcher.isReading = false
        watcher.send(subscribe + #","since":\#(mirror.revision ?? 0),"epoch":"\#(bus.epoch)"}"#)
        try bus.restart()
        watcher.isReading = true
        let told = try watcher.all()
        #expect(told.contains { $0["more"] == true } && !told.contains { $0["reset"] == true })
        try mirror.take(told)
        #expect(mirror.states.count == 19 && mirror.states["value/n7"] == nil)
    }

    @Test func keysAreRememberedForWhoMadeThem() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a"]
        setup.tokens = ["secret": "laptop", "other": "phone"]
        let bus = try MemoryBus(setup)
        let remote = bus.connect(.tcp(address: "127.0.0.1:4711"))
        try remote.ask(#"{"op":"hello","token":"secret"}"#)
        let local = bus.connect()
        let keyed = #"{"op":"dispatch","store":"counter/a","action":"increment","key":"k"}"#
        let (first, second) = (try remote.revision(after: keyed), try local.revision(after: keyed))
        #expect(first != second)
        try bus.restart()
        for (client, revision) in [(remote, first), (local, second)] {
            let reply = try client.reply(to: keyed)
            #expect(reply["duplicate"] == true)
            #expect(reply["revision"]?.int == revision)
        }
        #expect(try local.state(of: "counter/a")?["count"] == 2)
    }

    /// A token that was taken away or replaced meanwhile is no longer valid in the next daemon.
    @Test func whoseTokenIsTakenAwayIsNotServedByTheNextDaemon() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a"]
        setup.tokens = ["secret": "laptop", "other": "phone", "third": "lamp"]
        for hasLog in [true, false] {
            if hasLog { setup.log = MemoryLog() } else { setup.log = nil }
            let bus = try MemoryBus(setup)
            let clients = try ["secret", "other", "third"].enumerated().map { number, token in
                let client = bus.connect(.tcp(address: "127.0.0.1:\(4711 + number)"))
                try client.ask(#"{"op":"hello","token":"\#(token)"}"#)
                return client
            }
            bus.tokens.names = ["secret": "laptop", "new": "phone"]
            try bus.restart()
            #expect(clients.map(\.isEnded) == [false, true, true])
            for client in clients[1...] {
                #expect(try client.all().map { $0["code"] } == ["kicked"])
            }
            #expect(try clients[0].code(of: #"{"op":"ping"}"#) == nil)
        }
    }

    @Test func remoteClientsStayWhoTheyAreAndStrangersStayStrangers() throws {
        var setup = MemoryBus.Setup()
        setup.stores = ["door/front"]
        setup.tokens = ["secret": "laptop"]
        let bus = try MemoryBus(setup)
        let (remote, stranger) = (
            bus.connect(.tcp(address: "[::1]:1")), bus.connect(.tcp(address: "[::1]:2"))
        )
        try remote.ask(#"{"op":"hello","token":"secret"}"#)
        let watcher = bus.connect(.unix(uid: 7, pid: 8, unit: "watcher.service"), comm: "watcher")
        try watcher.ask(#"{"op":"hello","client":"panel","via":"[::1]:7"}"#)
        try watcher.ask(#"{"op":"subscribe","store":"door/front","actions":true}"#)
        try bus.restart()
        try remote.ask(#"{"op":"dispatch","store":"door/front","action":"rang"}"#)
        #expect(try watcher.all().first?["by"] == ["token": "laptop", "address": "[::1]:1"])
        try watcher.ask(#"{"op":"dispatch","store":"door/front","action":"rang"}"#)
        let identity = try watcher.reply(to: #"{"op":"hello"}"#)["identity"]
        #expect(identity?["unit"] == "watcher.service" && identity?["comm"] == "watcher")
        #expect(identity?["client"] == "panel" && identity?["via"] == "[::1]:7")
        #expect(!bus.engine.isIdentified(stranger.connection))
        #expect(try stranger.code(of: #"{"op":"ping"}"#) == "unauthorized")
        #expect(stranger.isEnded)
    }

    @Test func willAndEphemeralStoresEndWithTheirConnectionAfterwards() throws {
        let bus = try MemoryBus.with("counter/left")
        let (client, observer) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try client.ask(#"{"op":"will","actions":[{"store":"counter/left","action":"increment"}]}"#)
        try bus.restart()
        #expect(try observer.state(of: "counter/left")?["count"] == 0)
        #expect(try observer.state(of: "counter/mine") != nil)
        client.close()
        #expect(try observer.state(of: "counter/left")?["count"] == 1)
        #expect(try observer.state(of: "counter/mine") == nil)
    }

    @Test func creatorsKeepTheirRights() throws {
        let bus = try MemoryBus.with("counter/configured")
        let (creator, other) = (bus.connect(uid: 5), bus.connect(uid: 6))
        try creator.ask(#"{"op":"create","store":"counter/own"}"#)
        try bus.restart()
        #expect(try other.code(of: #"{"op":"drop","store":"counter/own"}"#) == "forbidden")
        #expect(try creator.code(of: #"{"op":"drop","store":"counter/configured"}"#) == "forbidden")
        #expect(try creator.code(of: #"{"op":"drop","store":"counter/own"}"#) == nil)
    }

    @Test func linesMayArriveInPartsAroundIt() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let line = Array((#"{"op":"dispatch","store":"counter/a","action":"increment"}"# + "\n").utf8)
        for cut in line.indices {
            client.send(bytes: Array(line[..<cut]))
            try bus.restart()
            client.send(bytes: Array(line[cut...]))
            #expect(try client.all().count == 1)
        }
        #expect(try client.state(of: "counter/a")?["count"]?.int == line.count)
        // The rest of a line that was too long is still thrown away.
        client.send(bytes: Array(repeating: UInt8(ascii: "x"), count: 2 << 20))
        #expect(try client.all().last?["error"]?["code"] == "too_large")
        try bus.restart()
        client.send(bytes: Array("still the same line\n".utf8))
        #expect(try client.isUsable())
    }

    @Test func slowReadersGetEverythingThatWaitedForThem() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = ["counter/a", "counter/b"]
        let bus = try MemoryBus(setup)
        let (client, slow) = (bus.connect(uid: 0), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(slow.ask(#"{"op":"subscribe","type":"counter"}"#))
        slow.isReading = false
        for _ in 0..<500 { try client.increment() }
        // Behind what it has not read stands a reply, and requests that are not carried out yet.
        for _ in 0..<3 { slow.send(#"{"op":"dispatch","store":"counter/b","action":"increment"}"#) }
        slow.send(#"{"op":"sync","id":"last"}"#)
        for round in 0..<3 {
            try bus.restart()
            try client.increment()
            if round == 1 { try client.ask(#"{"op":"create","store":"counter/c"}"#) }
        }
        slow.isReading = true
        let lines = try slow.all()
        #expect(lines.filter { $0["ok"] == true }.count == 4)
        #expect(lines.filter { $0["ok"] != nil }.last?["id"] == "last")
        try mirror.take(lines)
        #expect(mirror.states["counter/a"]?["count"] == 503)
        #expect(mirror.states["counter/b"]?["count"] == 3)
        #expect(mirror.states["counter/c"] != nil)
    }

    @Test func whoHasFinishedSendingStillGetsItsAnswers() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        client.isReading = false
        client.send(#"{"op":"ping","id":1}"#)
        client.finishSending()
        try bus.restart()
        #expect(!client.isEnded)
        client.isReading = true
        #expect(try client.all() == [["id": 1, "ok": true]])
        #expect(client.isEnded)
    }

    // MARK: Definitions that have changed meanwhile

    private func busWithGate() throws -> (MemoryBus, MemoryClient) {
        var setup = MemoryBus.Setup()
        setup.definitions = [gate]
        setup.stores = ["gate/front"]
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        try client.ask(#"{"op":"dispatch","store":"gate/front","action":"open"}"#)
        return (bus, client)
    }

    @Test func definitionThatFitsTakesThePlaceAndIsTold() throws {
        let (bus, client) = try busWithGate()
        var mirror = ContractMirror()
        try mirror.take(client.ask(#"{"op":"subscribe","type":"gate"}"#))
        try bus.restart(definitions: [
            "type: gate\ninitial: { isOpen: false, times: 0 }\nactions: { close: {} }\n"
        ])
        try mirror.take(client.all())
        #expect(mirror.states["gate/front"] == ["isOpen": true, "times": 0])
        #expect(try client.code(of: #"{"op":"dispatch","store":"gate/front","action":"close"}"#) == nil)
        #expect(bus.operatorNotes == [])
    }

    @Test(arguments: [["type: gate\ninitial: { other: 1 }\nactions: {}\n"], []])
    func definitionThatDoesNotFitOrIsGoneStaysAsItWas(_ definitions: [String]) throws {
        let (bus, client) = try busWithGate()
        try bus.restart(definitions: definitions)
        #expect(try client.state(of: "gate/front") == ["isOpen": true])
        #expect(try client.code(of: #"{"op":"dispatch","store":"gate/front","action":"open"}"#) == nil)
        #expect(bus.operatorNotes.count == 1)
        #expect(bus.operatorNotes.first?.contains("gate") == true)
    }
}
