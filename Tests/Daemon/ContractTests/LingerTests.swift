import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What a client leaves waits for it as long as it said: a blip of the network is no absence.
@Suite(.inBothModes) struct LingerTests {
    private static let hello = #"{"op":"hello","session":"gate","linger":"10s"}"#
    private static let will = #"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#
    private static let create = #"{"op":"create","store":"counter/mine","ephemeral":true}"#

    private func client(_ bus: MemoryBus, uid: Int = 1000, _ lines: String...) throws -> MemoryClient {
        let client = bus.connect(uid: uid)
        for line in lines { #expect(try client.reply(to: line)["ok"] == true, "\(line)") }
        return client
    }

    private func left(_ bus: MemoryBus) throws -> MemoryClient {
        try client(bus, Self.hello, Self.will, Self.create)
    }

    private func count(_ bus: MemoryBus) throws -> Int? {
        try bus.connect(uid: 7).state(of: "counter/a")?["count"]?.int
    }

    private func hasMine(_ bus: MemoryBus) throws -> Bool {
        try bus.connect(uid: 7).code(of: #"{"op":"get","store":"counter/mine"}"#) == nil
    }

    @Test(.aloneOnly(because: "On a shared bus the members keep the deadline of a session, not the engine."))
    func whatIsLeftWaitsAndThenEnds() throws {
        let bus = try MemoryBus.logging("counter/a")
        try left(bus).close()
        bus.advance(milliseconds: 9_999)
        #expect(try hasMine(bus))
        #expect(try count(bus) == 0)
        #expect(bus.engine.nextDeadline != nil)
        bus.advance(milliseconds: 1)
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aClientThatComesBackTakesItOver() throws {
        let bus = try MemoryBus.logging("counter/a")
        try left(bus).close()
        bus.advance(milliseconds: 9_000)
        let again = bus.connect()
        #expect(try again.reply(to: Self.hello)["resumed"] == true)
        bus.advance(milliseconds: 60_000)
        #expect(try hasMine(bus))
        #expect(try count(bus) == 0)
        // It goes with the connection that has it now, and its commit is by that one.
        again.close()
        bus.advance(milliseconds: 10_000)
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
        let by = try bus.connect(uid: 0).reply(to: #"{"op":"history","limit":1000}"#)["commits"]?.array?
            .last?["by"]
        #expect(by?["pid"]?.int != nil && by?["uid"] == 1000)
    }

    /// History has the name of the session that a store goes with, and how long it waits; of other stores it has neither.
    @Test func historyHasTheSessionOfAStore() throws {
        let bus = try MemoryBus.logging("counter/a")
        _ = try left(bus)
        _ = try client(bus, #"{"op":"create","store":"counter/brief","ephemeral":true}"#)
        let history = try bus.connect(uid: 0).reply(to: #"{"op":"history","limit":1000}"#)
        let commits = try #require(history["commits"]?.array)
        let mine = try #require(commits.first { $0["created"]?["counter/mine"] != nil })
        #expect(mine["session"] == "gate")
        #expect(mine["linger"] == 10)
        #expect(mine["ephemeral"] == true)
        let brief = try #require(commits.first { $0["created"]?["counter/brief"] != nil })
        #expect(brief["session"] == nil && brief["linger"] == nil)
    }

    /// The bus may not have seen the end of the old connection.
    @Test func aSessionMovesFromAConnectionThatIsStillThere() throws {
        let bus = try MemoryBus.logging("counter/a")
        let old = try left(bus)
        let new = bus.connect()
        #expect(try new.reply(to: Self.hello)["resumed"] == true)
        old.close()
        bus.advance(milliseconds: 20_000)
        #expect(try hasMine(bus))
        #expect(try count(bus) == 0)
        new.close()
        bus.advance(milliseconds: 10_000)
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
    }

    /// What the old connection had sent before is read after the new one has come: it is not the new one's.
    @Test func whatStillComesFromTheOldConnectionEndsWithIt() throws {
        let bus = try MemoryBus.logging("counter/a")
        let old = try client(bus, Self.hello)
        let new = try client(bus, Self.hello)
        #expect(try old.reply(to: Self.create)["ok"] == true)
        #expect(try new.code(of: Self.create) == "exists")
        old.close()
        #expect(try new.code(of: Self.create) == nil)
        bus.advance(milliseconds: 60_000)
        #expect(try hasMine(bus))
    }

    @Test func onlyTheSameIdentityAndNameTakeOver() throws {
        let bus = try MemoryBus.logging("counter/a")
        try left(bus).close()
        let other = bus.connect(uid: 1001)
        #expect(try other.reply(to: Self.hello)["resumed"] == false)
        let named = bus.connect()
        #expect(
            try named.reply(to: #"{"op":"hello","session":"door","linger":10}"#)["resumed"] == false)
        #expect(try bus.connect().reply(to: #"{"op":"hello"}"#)["resumed"] == nil)
        bus.advance(milliseconds: 10_000)
        #expect(try count(bus) == 1)
        // Too late.
        #expect(try bus.connect().reply(to: Self.hello)["resumed"] == false)
    }

    @Test func aClientThatLeavesForGoodSaysSo() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = try left(bus)
        #expect(try client.reply(to: #"{"op":"hello","session":"gate","linger":0}"#)["ok"] == true)
        client.close()
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
    }

    @Test(
        .aloneOnly(because: "A member of a shared bus hands nothing over."),
        arguments: [true, false]) func aHandOverAndACrashAreBlips(isCrash: Bool) throws
    {
        var bus = try MemoryBus.logging("counter/a")
        let client = try left(bus)
        if isCrash { bus = try bus.crash() } else { try bus.restart() }
        if !isCrash { client.close() }
        bus.advance(milliseconds: 9_000)
        #expect(try hasMine(bus))
        let again = bus.connect()
        #expect(try again.reply(to: Self.hello)["resumed"] == true)
        bus.advance(milliseconds: 30_000)
        #expect(try hasMine(bus))
        again.close()
        bus.advance(milliseconds: 10_000)
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    /// The log knows the name of a session that has nothing but a will.
    @Test func aWillAloneLingersAcrossACrash() throws {
        let bus = try MemoryBus.logging("counter/a")
        _ = try client(bus, Self.hello, Self.will)
        let next = try bus.crash()
        next.advance(milliseconds: 9_000)
        #expect(try count(next) == 0)
        #expect(try next.connect().reply(to: Self.hello)["resumed"] == true)
        next.advance(milliseconds: 60_000)
        #expect(try count(next) == 0)
    }

    /// Also one that lingers while the daemon is restarted, with and without a log, and from a snapshot.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func whatLingersSurvivesARestart() throws {
        for hasLog in [true, false] {
            var setup = MemoryBus.Setup()
            setup.stores = ["counter/a"]
            if hasLog { setup.log = MemoryLog() }
            let bus = try MemoryBus(setup)
            try left(bus).close()
            bus.advance(milliseconds: 5_000)
            try bus.restart()
            bus.advance(milliseconds: 4_000)
            #expect(try hasMine(bus))
            bus.advance(milliseconds: 1_000)
            #expect(try !hasMine(bus), "A restart does not begin the wait again.")
            #expect(try count(bus) == 1)
        }
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a") { $0.log = log }
        try left(bus).close()
        log.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let next = try bus.crash()
        next.advance(milliseconds: 9_000)
        #expect(try next.connect().reply(to: Self.hello)["resumed"] == true)
    }

    /// A commit that did not reach the disk takes nothing of the session with it.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func aFailedWriteLeavesTheSession() throws {
        let bus = try MemoryBus.logging("counter/a")
        try left(bus).close()
        let other = bus.connect(uid: 7)
        bus.disk = .fails
        other.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        #expect(try other.codes() == ["unavailable"])
        // Its time comes while nothing can be committed.
        bus.advance(milliseconds: 20_000)
        bus.disk = .works
        #expect(try !hasMine(bus))
        #expect(try count(bus) == 1)
        #expect(try bus.isWhatTheLogSays())
        let again = try bus.crash()
        #expect(try count(again) == 1)
    }

    @Test(
        arguments: [
            (#"{"op":"hello","linger":10}"#, "`linger` goes with `session`"),
            (#"{"op":"hello","session":"","linger":10}"#, "1 to 128 bytes"),
            (#"{"op":"hello","session":5}"#, "session"),
            (#"{"op":"hello","session":"a","linger":"soon"}"#, "seconds or a text"),
            (#"{"op":"hello","session":"a","linger":-1}"#, "seconds or a text"),
            (#"{"op":"hello","session":"a","linger":86401}"#, "at most a day"),
            (#"{"op":"hello","session":"other","linger":1}"#, "has the session gate"),
        ]) func wrongOnesAreRefusedByName(line: String, words: String) throws
    {
        let bus = try MemoryBus.logging("counter/a")
        let client = try client(bus, Self.hello)
        let error = try client.reply(to: line)["error"]
        #expect(error?["code"] == "invalid_request")
        #expect(error?["message"]?.string?.contains(words) == true, "\(error ?? .null)")
    }

    @Test func twoSessionsAreNotMerged() throws {
        let bus = try MemoryBus.logging("counter/a")
        try left(bus).close()
        let other = try client(bus, #"{"op":"create","store":"counter/other","ephemeral":true}"#)
        let error = try other.reply(to: Self.hello)["error"]
        #expect(error?["message"]?.string?.contains("before a will or an ephemeral store") == true)
    }

    /// No more wait than connections may be open: whoever leaves one after the other does not fill the bus.
    @Test(
        .aloneOnly(
            because: "How many wait on a shared bus is a limit of the bus; `EarlierRulesTests` try it."))
    func asManyLingerAsMayConnect() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.connections = 5 }
        for number in 0..<8 {
            try client(
                bus, uid: MemoryBus.ownUID, #"{"op":"hello","session":"s\#(number)","linger":60}"#,
                #"{"op":"create","store":"counter/n\#(number)","ephemeral":true}"#
            ).close()
        }
        let stores = try bus.connect().reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object?.keys
        #expect(stores?.count == 6)
        bus.advance(milliseconds: 60_000)
        let rest = try bus.connect().reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object?.keys
        #expect(rest?.count == 1)
    }
}
