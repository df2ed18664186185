import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 7, second half: when a write fails, the bus is what it was at the last durable revision, and whoever was about
/// to hear otherwise hears that it was not done.
@Suite(
    .aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
struct FailedWriteTests {
    /// A busy disk, on which the first write after this fails.
    private func failing(_ bus: MemoryBus, _ meanwhile: () throws -> Void) throws {
        bus.disk = .isBusy
        try meanwhile()
        bus.disk = .fails
    }

    @Test func whatWasNotWrittenNeverHappened() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "todo/t")
        let (client, other) = (bus.connect(), bus.connect())
        try client.increment(by: 5)
        try client.ask(#"{"op":"create","store":"counter/c","state":{"count":3}}"#)
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        try failing(bus) {
            for _ in 0..<3 { client.send(Line.increment) }
            client.send(#"{"op":"drop","store":"counter/c"}"#)
            other.send(#"{"op":"create","store":"counter/d"}"#)
            other.send(#"{"op":"dispatch","type":"counter","action":"reset"}"#)
            #expect(bus.engine.revision == revision + 6)
        }
        #expect(bus.engine.revision == revision)
        #expect(bus.engine.stateDigest == digest)
        #expect(try client.codes() == Array(repeating: "unavailable", count: 4))
        #expect(try other.codes() == ["unavailable", "unavailable"])
        // Reads go on, commits don't.
        #expect(try client.state(of: "counter/c")?["count"] == 3)
        #expect(try client.code(of: Line.increment) == "unavailable")
        bus.disk = .works
        #expect(try client.increment() == revision + 1)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Each exactly once and in order, also those that wanted no answer; what tells nothing of a commit may stay as it was.
    @Test func everyRequestIsAnsweredOnceAndInOrder() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        try failing(bus) {
            client.send(Line.increment(id: 1, #","ack":false"#))
            client.send(Line.increment(id: 2, #","ack":false"#))
            client.send(Line.increment(id: 3))
            client.send(#"{"op":"ping","id":4}"#)
            client.send(Line.increment(id: 5, #","ack":false"#))
            client.send(#"{"op":"get","id":6,"store":"counter/a"}"#)
            client.send("no JSON")
            client.send(#"{"op":"history","id":8}"#)
        }
        let lines = try client.all()
        #expect(lines.map { $0["id"]?.int ?? 7 } == Array(1...8))
        for line in lines where line["ok"] == true { #expect(line == ["id": 4, "ok": true]) }
        #expect(lines.filter { $0["error"]?["code"] == "unavailable" }.count >= 7)
        #expect(try client.isUsable())
    }

    /// A silent dispatch whose commit stands on disk is no business of a later failure.
    @Test func silentDispatchThatWasWrittenIsNotAnswered() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        #expect(try client.ask(Line.increment(id: 1, #","ack":false"#)).isEmpty)
        try failing(bus) { client.send(Line.increment(id: 2)) }
        #expect(try client.all().compactMap { $0["id"]?.int } == [2])
        #expect(try client.state(of: "counter/a")?["count"] == 1)
    }

    /// The repetition of a silent dispatch hangs on the same commit as the first.
    @Test func silentRepetitionIsAnsweredToo() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (one, two) = (bus.connect(), bus.connect())
        try failing(bus) {
            one.send(Line.increment(id: 1, #","key":"k","ack":false"#))
            two.send(Line.increment(id: 2, #","key":"k","ack":false"#))
        }
        #expect(try one.codes() == ["unavailable"])
        #expect(try two.codes() == ["unavailable"])
    }

    @Test func keysOfWhatWasNotWrittenAreFree() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        let (kept, lost) = (
            Line.increment(id: 1, #","key":"kept""#), Line.increment(id: 2, #","key":"lost""#)
        )
        try client.ask(kept)
        try failing(bus) { client.send(lost) }
        #expect(try client.codes() == ["unavailable"])
        #expect(try client.reply(to: kept)["duplicate"] == true)
        bus.disk = .works
        #expect(try client.reply(to: lost)["duplicate"] == nil)
        #expect(try client.reply(to: lost)["duplicate"] == true)
        #expect(try client.state(of: "counter/a")?["count"] == 2)
    }

    /// In every format: what waited is taken back, and the mirror starts over with what is.
    @Test(arguments: ["merge", "patch", "state"], [nil, #"["/count"]"#])
    func mirrorsStayExact(_ format: String, _ select: String?) throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b")
        let (client, other) = (bus.connect(), bus.connect())
        let members = select.map { #","select":\#($0)"# } ?? ""
        var mirror = ContractMirror()
        func check() throws {
            try mirror.take(client.all())
            let states = try other.reply(to: #"{"op":"get","type":"counter"\#(members)}"#)["states"]?.object
            #expect(states?.members.count == mirror.states.count)
            for (address, state) in mirror.states { #expect(states?[address] == state) }
            #expect(mirror.revision == bus.engine.revision)
        }
        client.send(#"{"op":"subscribe","type":"counter","format":"\#(format)"\#(members)}"#)
        try other.increment()
        try check()
        try failing(bus) {
            other.send(Line.increment)
            other.send(#"{"op":"create","store":"counter/c"}"#)
            other.send(#"{"op":"drop","store":"counter/b"}"#)
        }
        try check()
        bus.disk = .works
        _ = try other.all()
        try other.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        try check()
    }

    /// Also where the event that waited told of nothing that was lost, but only waited with it: here for a will.
    @Test func mirrorMissesNothingThatWaitedWithAWill() throws {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let (client, other) = (bus.connect(), bus.connect())
        var mirror = ContractMirror()
        client.send(#"{"op":"subscribe","store":"counter/a"}"#)
        try other.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#)
        try mirror.take(client.all())
        try failing(bus) {
            other.send(#"{"op":"will","actions":[{"type":"door","action":"rang"}]}"#)
            bus.advance(milliseconds: 40_000)
        }
        try mirror.take(client.all())
        bus.disk = .works
        try other.increment()
        try mirror.take(client.all())
        #expect(mirror.states["counter/a"]?["count"] == 1)
        #expect(mirror.revision == bus.engine.revision)
    }

    /// Whoever listens to actions hears those that stand, each once, and none of the others.
    @Test func actionsThatStandAreToldOnce() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        try other.increment()
        bus.disk = .isBusy
        other.send(Line.increment)
        other.send(Line.increment)
        bus.disk = .fails
        bus.disk = .works
        _ = try other.all()
        try other.increment()
        let events = try client.all()
        #expect(events.allSatisfy { $0["event"] == "action" })
        #expect(events.compactMap { $0["revision"]?.int } == [2, 3])
    }

    /// Past actions that waited with a later commit are told again.
    @Test func pastActionsThatWaitedAreToldAgain() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 0..<5 { try other.increment() }
        client.isReading = false
        try client.ask(
            #"{"op":"subscribe","type":"counter","actions":true,"since":1,"epoch":"\#(bus.epoch)"}"#)
        try failing(bus) { other.send(Line.increment) }
        bus.disk = .works
        client.isReading = true
        #expect(
            try client.all().compactMap { $0["event"] != nil ? $0["revision"]?.int : nil } == Array(2...6))
    }

    @Test func subscriptionThatWasNotConfirmedIsNone() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"subscribe","type":"door"}"#)
        try failing(bus) {
            other.send(Line.increment)
            client.send(#"{"op":"subscribe","type":"counter"}"#)
            client.send(#"{"op":"unsubscribe","sub":1}"#)
        }
        #expect(try client.codes().first == "unavailable")
        bus.disk = .works
        _ = try client.all()
        try other.increment()
        #expect(try client.all().isEmpty)
        // Its number is not used again.
        #expect(try client.reply(to: #"{"op":"subscribe","type":"counter"}"#)["sub"]?.int ?? 0 >= 2)
    }

    /// Who was being told goodbye is told so still.
    @Test func goodbyeIsNotLostWithWhatItFollowed() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        try failing(bus) {
            client.send(Line.increment)
            bus.shutDown()
        }
        #expect(try client.codes() == ["unavailable", "event"])
        #expect(client.isEnded)
    }

    /// Only what a group holds that was not written goes; the one before stands.
    @Test func commitsOfTheGroupBeforeStand() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (one, two) = (bus.connect(), bus.connect())
        bus.disk = .isBusy
        one.send(Line.increment)
        bus.disk = .works
        bus.disk = .isBusy
        two.send(Line.increment)
        two.send(Line.increment)
        bus.disk = .fails
        #expect(try one.codes() == ["ok"])
        #expect(try two.codes() == ["unavailable", "unavailable"])
        #expect(try one.state(of: "counter/a")?["count"] == 1)
    }

    /// A bookmark comes after a thousand commits, however often the bus went back in between.
    @Test func bookmarksAreNotLateAfterwards() throws {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let (client, other) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"subscribe","type":"door","initial":false}"#)
        for _ in 0..<990 { other.send(Line.increment) }
        try failing(bus) {
            for _ in 0..<8 { other.send(Line.increment) }
            other.send(#"{"op":"dispatch","type":"door","action":"open"}"#)
            for _ in 0..<20 { other.send(Line.increment) }
        }
        bus.disk = .works
        let start = try #require(try client.all().last { $0["event"] == "change" }?["revision"]?.int)
        bus.advance(milliseconds: 100)
        for _ in 0..<1000 { other.send(Line.increment) }
        #expect(try client.all() == [["event": "bookmark", "sub": 1, "revision": .int(start + 1000)]])
    }

    @Test func orderOfStoresIsTheOldOne() throws {
        let bus = try MemoryBus.logging("counter/b", "counter/a")
        let (client, observer) = (bus.connect(uid: 0), bus.connect())
        try failing(bus) {
            client.send(#"{"op":"drop","store":"counter/b"}"#)
            client.send(#"{"op":"create","store":"counter/b"}"#)
        }
        bus.disk = .works
        try observer.ask(#"{"op":"subscribe","type":"counter","initial":false,"format":"state"}"#)
        try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        var last = ""
        while let line = observer.nextLine() { last = line }
        #expect(last.contains(/"states":{"counter\/b":.*"counter\/a":/), "\(last)")
        #expect(try bus.isWhatTheLogSays())
    }

    /// A reload that was not written: the old definitions hold, and the next one brings the new ones.
    @Test func definitionsAreTheOldOnes() throws {
        let bus = try MemoryBus.logging("lamp/l") { $0.definitions = ["type: lamp\ninitial: { on: false }"] }
        let client = bus.connect(uid: 0)
        bus.definitions = ["type: lamp\ninitial: { on: false, level: 3 }", "type: other\ninitial: {}"]
        try failing(bus) { client.send(#"{"op":"reload"}"#) }
        #expect(try client.codes() == ["unavailable"])
        #expect(try client.state(of: "lamp/l") == ["on": false])
        #expect(try client.code(of: #"{"op":"types","type":"other"}"#) == "unknown_type")
        bus.disk = .works
        try client.revision(after: #"{"op":"reload"}"#)
        #expect(try client.state(of: "lamp/l") == ["on": false, "level": 3])
        #expect(try client.code(of: #"{"op":"types","type":"other"}"#) == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    /// A reload whose files are read meanwhile is refused, too: it does not happen when they have been read, though the disk works
    /// again by then. A client that left before was not refused.
    @Test(arguments: ["stays", "leaves when refused", "leaves before"])
    func refusedReloadDoesNotHappenLater(_ client: String) throws {
        let bus = try MemoryBus.logging("counter/a")
        let (asker, other) = (bus.connect(uid: 0), bus.connect())
        bus.definitions = ["type: other\ninitial: {}"]
        bus.readsFiles = false
        asker.send(#"{"op":"reload"}"#)
        if client == "leaves before" { asker.close() }
        try failing(bus) { other.send(Line.increment) }
        #expect(try other.codes() == ["unavailable"])
        if client != "leaves before" { #expect(try asker.codes() == ["unavailable"]) }
        if client == "leaves when refused" { asker.close() }
        bus.disk = .works
        let revision = bus.engine.revision
        bus.readsFiles = true
        let happened = client == "leaves before"
        #expect(bus.engine.revision == revision + (happened ? 1 : 0))
        #expect(
            try other.code(of: #"{"op":"types","type":"other"}"#) == (happened ? nil : "unknown_type"))
        // The next one happens.
        try bus.connect(uid: 0).ask(#"{"op":"reload"}"#)
        #expect(try other.code(of: #"{"op":"types","type":"other"}"#) == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Who made a store is still who may drop it, and who is new meanwhile is nobody else.
    @Test func storesStayTheirMakers() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (maker, other) = (bus.connect(uid: 7), bus.connect(uid: 8))
        try other.revision(after: Line.increment)
        try maker.revision(after: #"{"op":"create","store":"counter/n"}"#)
        let late = bus.connect(uid: 9)
        try failing(bus) { late.send(#"{"op":"create","store":"counter/o"}"#) }
        bus.disk = .works
        let drop = #"{"op":"drop","store":"counter/n"}"#
        for client in [other, late, bus.connect(uid: 10)] {
            _ = try client.all()
            #expect(try client.code(of: drop) == "forbidden")
        }
        #expect(try maker.code(of: drop) == nil)
    }

    /// What clients make the bus hold is counted as before.
    @Test func memoryIsCountedAsBefore() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, observer) = (bus.connect(uid: 0), bus.connect())
        for pattern in ["counter/*", "*/*", "counter/a*", "counter/a"] {
            try observer.ask(#"{"op":"subscribe","match":"\#(pattern)"}"#)
        }
        func memory() throws -> JSON? {
            let stats = try client.reply(to: #"{"op":"stats"}"#)["stats"]
            #expect(stats?["outboxBytes"] == 0)
            return stats?["accountedMemory"]
        }
        let before = try memory()
        try failing(bus) {
            client.send(#"{"op":"create","store":"counter/ab","key":"k"}"#)
            client.send(Line.increment)
            observer.send(#"{"op":"subscribe","match":"counter/b*"}"#)
            client.send(#"{"op":"drop","store":"counter/a"}"#)
        }
        _ = try client.all()
        #expect(try memory() == before)
    }
}
