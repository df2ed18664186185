import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What the log knows of sessions that linger: after a crash, and after a write that failed, each is what its client was
/// told.
@Suite(.inBothModes)
struct LingerLogTests {
    private let hello = #"{"op":"hello","session":"gate","linger":"10s"}"#
    private let will = #"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#
    private let create = #"{"op":"create","store":"counter/mine","ephemeral":true}"#

    private func client(_ bus: MemoryBus, _ lines: String...) throws -> MemoryClient {
        let client = bus.connect()
        for line in lines { #expect(try client.reply(to: line)["ok"] == true, "\(line)") }
        return client
    }

    private func count(_ bus: MemoryBus) throws -> Int? {
        try bus.connect(uid: 7).state(of: "counter/a")?["count"]?.int
    }

    private func hasMine(_ bus: MemoryBus) throws -> Bool {
        try bus.connect(uid: 7).code(of: #"{"op":"get","store":"counter/mine"}"#) == nil
    }

    /// A commit that nobody's reply depends on is not written; commits are suspended from then on.
    private func failAWrite(_ bus: MemoryBus) throws {
        bus.disk = .fails
        let other = bus.connect(uid: 7)
        other.send(Line.increment)
        #expect(try other.codes() == ["unavailable"])
    }

    // MARK: Crashes

    /// A session that left no will is named by the entries of its stores.
    @Test func storesAloneLingerAcrossACrash() throws {
        let bus = try MemoryBus.logging("counter/a")
        _ = try client(bus, hello, create)
        let next = try bus.crash()
        next.advance(milliseconds: 9999)
        #expect(try hasMine(next))
        #expect(try next.connect().reply(to: hello)["resumed"] == true)
        next.advance(milliseconds: 60_000)
        #expect(try hasMine(next))
    }

    /// The log knows who took a session over, and how long it waits for the new one.
    @Test func aTakeOverSurvivesACrash() throws {
        let bus = try MemoryBus.logging("counter/a")
        try client(bus, hello, will).close()
        let again = try client(bus, #"{"op":"hello","session":"gate","linger":"1m"}"#, Line.increment)
        let by = try bus.connect(uid: 0).reply(to: #"{"op":"history","limit":100}"#)["commits"]?.array?
            .last?["by"]
        let next = try bus.crash()
        again.close()
        next.advance(milliseconds: 59_999)
        #expect(try count(next) == 1)
        next.advance(milliseconds: 1)
        #expect(try count(next) == 2)
        let last = try next.connect(uid: 0).reply(to: #"{"op":"history","limit":100}"#)["commits"]?.array?
            .last
        #expect(last?["by"] == by && by?["pid"] != nil)
    }

    /// There may be two of one name, where the end of one was waiting for its turn: the client has left the newer one.
    @Test(.aloneOnly(because: "A member does not crash with an end that waits: the log has it."))
    func newestSessionHasTheName() throws {
        let bus = try MemoryBus.logging("counter/a")
        let machine = try bus.past(at: bus.engine.revision)
        let principal = machine.principal(uid: 1000, pid: 1, unit: nil)
        let sessions = (0..<100).map { _ in machine.openSession(principal) }
        for session in sessions { machine.name(session, "gate", linger: 10, principal) }
        #expect(machine.session(named: "gate", of: principal) === sessions.last)
        machine.giveUpName(of: sessions[99])
        #expect(machine.session(named: "gate", of: principal) === sessions[98])
        machine.closeSession(sessions[98].id)
        let other = machine.principal(uid: 1001, pid: 1, unit: nil)
        machine.give(sessions[97], to: other)
        #expect(machine.session(named: "gate", of: principal) === sessions[96])
        #expect(machine.session(named: "gate", of: other) === sessions[97])
    }

    // MARK: Failed writes

    /// What is told then is not written, and waits until it can be: trying would take everybody back again.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func namingASessionWhileNothingCanBeWrittenTakesNobodyBack() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, observer) = (try client(bus, hello, will), bus.connect(uid: 7))
        try failAWrite(bus)
        try observer.ask(#"{"op":"subscribe","type":"counter"}"#)
        let again = try client.reply(to: #"{"op":"hello","session":"gate","linger":"1m"}"#)
        #expect(again["ok"] == true)
        #expect(try observer.all().isEmpty)
        bus.disk = .works
        let next = try bus.crash()
        next.advance(milliseconds: 59_999)
        #expect(try count(next) == 0)
        next.advance(milliseconds: 1)
        #expect(try count(next) == 1)
    }

    /// After the bus has gone back, the end of a session drops its own stores and no later one.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func whatLingersIsTheSessionAfterTheBusHasGoneBack() throws {
        let bus = try MemoryBus.logging("counter/a")
        try client(bus, hello, create).close()
        try failAWrite(bus)
        bus.disk = .works
        let root = bus.connect(uid: 0)
        try root.revision(after: #"{"op":"drop","store":"counter/mine"}"#)
        try root.revision(after: #"{"op":"create","store":"counter/mine"}"#)
        bus.advance(milliseconds: 60_000)
        #expect(try hasMine(bus))
        #expect(try bus.isWhatTheLogSays())
    }

    /// A will is answered without a commit, so it holds although what was written with it is lost: with its name.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func aWillLeftWhileAWriteFailsLingers() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = try client(bus, hello)
        bus.disk = .isBusy
        client.send(will)
        let other = bus.connect(uid: 7)
        other.send(Line.increment)
        bus.disk = .fails
        #expect(try other.codes() == ["unavailable"])
        #expect(try client.codes() == ["ok"])
        bus.disk = .works
        client.close()
        bus.advance(milliseconds: 9999)
        #expect(try count(bus) == 0)
        bus.advance(milliseconds: 1)
        #expect(try count(bus) == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    /// The will of a client that has gone while nothing could be written is in the log as soon as that is possible again.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func aWillThatWasNotWrittenIsLoggedWhileItLingers() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = try client(bus, hello)
        bus.disk = .isBusy
        client.send(will)
        bus.disk = .fails
        #expect(try client.codes() == ["ok"])
        client.close()
        bus.disk = .works
        let next = try bus.crash()
        next.advance(milliseconds: 9999)
        #expect(try count(next) == 0)
        next.advance(milliseconds: 1)
        #expect(try count(next) == 1)
    }
}
