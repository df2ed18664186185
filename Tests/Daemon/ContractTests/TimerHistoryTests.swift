import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Timers and leases outlive their daemon, whatever becomes of it, and a replay needs no clock for them.
@Suite(.inBothModes)
struct TimerHistoryTests {
    /// A bus with timers of every kind, and some that have fired.
    private func busy() throws -> MemoryBus {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        for line in [
            #"{"op":"dispatch","type":"lamp","action":"switchOn"}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":30,"timer":"tea"}"#,
            #"{"op":"dispatch","type":"counter","action":"increment","in":40}"#,
            #"{"op":"dispatch","type":"*","action":"increment","in":50}"#,
            #"{"op":"dispatch","store":"lamp/b","action":"refuse","in":1}"#,
            #"{"op":"dispatch","store":"lamp/b","action":"blink"}"#,
            #"{"op":"create","store":"loan/l"}"#,
            #"{"op":"create","store":"counter/l","ttl":2.5,"ephemeral":true}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":2,"timer":"gone"}"#,
            #"{"op":"cancel","store":"counter/a","timer":"gone"}"#,
        ] { try client.revision(after: line) }
        for _ in 0..<4 {
            bus.advance(milliseconds: 1000)
            try client.revision(after: #"{"op":"dispatch","type":"loan","action":"look"}"#)
        }
        return bus
    }

    @Test func replayMakesTheSameTimersAtEveryRevision() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        var digests: [Int: String] = [:]
        for line in [
            #"{"op":"dispatch","type":"lamp","action":"switchOn"}"#,
            #"{"op":"dispatch","type":"lamp","action":"blink"}"#,
            #"{"op":"create","store":"loan/l"}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":2}"#,
            #"{"op":"dispatch","store":"lamp/a","action":"refuse","in":1}"#,
        ] {
            try client.revision(after: line)
            digests[bus.engine.revision] = bus.engine.stateDigest
        }
        for step in 0..<90 {
            bus.advance(milliseconds: 1000)
            if step == 20 { try client.revision(after: #"{"op":"dispatch","type":"loan","action":"add"}"#) }
            digests[bus.engine.revision] = bus.engine.stateDigest
        }
        #expect(digests.count > 90)
        for (revision, digest) in digests {
            #expect(try bus.past(at: revision).stateDigest == digest, "revision \(revision)")
        }
    }

    @Test func nextDaemonFiresWhatIsDue() throws {
        let bus = try busy()
        let next = try bus.crash { $0.stores = [] }
        #expect(next.engine.stateDigest == bus.engine.stateDigest)
        let client = next.connect()
        next.advance(milliseconds: 30_000)
        #expect(try client.state(of: "counter/a")?["count"] == 1)
        next.advance(milliseconds: 300_000)
        #expect(try client.state(of: "counter/a")?["count"] == 3)
        #expect(try client.state(of: "lamp/a")?["on"] == false)
        #expect(try client.state(of: "loan/l") == nil)
    }

    @Test func snapshotHoldsTimersInTheirOrder() throws {
        let bus = try busy()
        let snapshot = bus.engine.snapshot()
        let machine = StateMachine(
            replayingWith: try SampleTypes.load(and: [TimedBus.lamp, TimedBus.lease]), epoch: bus.epoch,
            hashSeed: MemoryBus.hashSeed)
        try withExtendedLifetime(snapshot) { try machine.restore(snapshot.bytes) }
        #expect(machine.stateDigest == bus.engine.stateDigest)
        machine.advance(to: bus.now + 3_600_000)
        let names = machine.timers.inOrder.map { "\(machine.name(of: $0.owner)) \($0.name)" }
        let past = try bus.past(at: bus.engine.revision)
        #expect(names == past.timers.inOrder.map { "\(past.name(of: $0.owner)) \($0.name)" })
        #expect(machine.timers.bytes == past.timers.bytes)
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."), arguments: [false, true])
    func successorTakesTimersOver(isLogged: Bool) throws {
        let bus = try TimedBus.make(logged: isLogged)
        let client = bus.connect()
        try client.revision(after: #"{"op":"dispatch","type":"lamp","action":"switchOn"}"#)
        try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        let digest = bus.engine.stateDigest
        try bus.restart()
        #expect(bus.engine.stateDigest == digest)
        bus.advance(milliseconds: 300_000)
        #expect(try client.state(of: "lamp/a")?["times"] == 1)
        #expect(try client.state(of: "loan/l") == nil)
    }

    /// What was fired but not written has not fired: it does when the log can be written again.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func firingThatIsNotWrittenIsRolledBackAndDoneAgain() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"switchOn"}"#)
        let revision = bus.engine.revision
        bus.disk = .fails
        bus.advance(milliseconds: 300_000)
        #expect(bus.engine.revision == revision)
        #expect(bus.engine.nextTimer == nil)
        bus.advance(milliseconds: 60_000)
        #expect(bus.engine.revision == revision)
        bus.disk = .works
        bus.settle()
        #expect(bus.engine.revision == revision + 1)
        #expect(try client.state(of: "lamp/a")?["times"] == 1)
        bus.advance(milliseconds: 900_000)
        #expect(bus.engine.revision == revision + 1)
    }

    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func settingThatIsNotWrittenIsRolledBack() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        bus.disk = .fails
        client.send(#"{"op":"dispatch","store":"lamp/a","action":"switchOn"}"#)
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment","in":5}"#)
        bus.disk = .works
        bus.settle()
        _ = try client.all()
        #expect(try client.timers() == [])
    }

    /// While nothing can be committed nothing is scheduled or cancelled, and timers stay as they are.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func nothingIsScheduledOrCancelledWhileNothingCanBeCommitted() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":50,"timer":"tea"}"#)
        // Not yet gone back, so that nothing takes back what is committed now.
        bus.rewinds = false
        bus.disk = .fails
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        #expect(bus.engine.unavailableReason != nil)
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        for line in [
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":5}"#,
            #"{"op":"cancel","store":"counter/a","timer":"tea"}"#,
        ] {
            client.send(line)
            #expect((bus.engine.revision, bus.engine.stateDigest) == (revision, digest))
        }
        bus.rewinds = true
        #expect(try client.codes() == ["unavailable", "unavailable", "unavailable"])
        let dry = #"{"op":"dispatch","store":"counter/a","action":"increment","in":5,"dryRun":true}"#
        #expect(try client.code(of: dry) == nil)
        bus.disk = .works
        #expect(try client.timers() == ["counter/a tea"])
        #expect(try client.code(of: #"{"op":"cancel","store":"counter/a","timer":"tea"}"#) == nil)
    }

    /// A cancellation that is sent again is answered as the first time, also by the next daemon.
    @Test func keyedCancellationIsAnsweredAsTheFirstTime() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":50,"timer":"tea"}"#)
        let cancel = #"{"op":"cancel","store":"counter/a","timer":"tea","key":"k"}"#
        let revision = try client.revision(after: cancel)
        let again: JSON = ["ok": true, "revision": .int(revision), "duplicate": true]
        #expect(try client.reply(to: cancel) == again)
        #expect(try bus.crash().connect().reply(to: cancel) == again)
        #expect(bus.engine.revision == revision)
    }

    /// The log says what timers did, and history tells it.
    @Test func historyTellsTimers() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        let first = try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":5,"timer":"t"}"#)
        bus.advance(milliseconds: 5000)
        let commits = try #require(
            try client.reply(to: #"{"op":"history","store":"counter/a","since":\#(first - 1)}"#)["commits"]?
                .array)
        #expect(commits.count == 2)
        #expect(commits.first?["scheduled"]?["action"] == "increment")
        #expect(commits.last?["fired"] == ["store": "counter/a", "timer": "t"])
        #expect(commits.last?["by"]?["timer"] == "t")
    }

    /// An entry that names a timer that is not there is damage, and no replay goes on behind it.
    @Test func entryAboutAnUnknownTimerIsRefused() throws {
        let bus = try busy()
        for member in [
            #""fired":{"store":"lamp/a","timer":"x"}"#, #""cancelled":{"type":"lamp","timer":"x"}"#,
            #""scheduled":{"store":"lamp/a","timer":"x","due":1}"#,
        ] {
            let line =
                #"{"revision":\#(bus.engine.revision + 1),"time":1795000300.5,"by":{"uid":1,"pid":2},"actions":[],\#(member)}"#
            let machine = try bus.past(at: bus.engine.revision)
            #expect(throws: ReplayFailure.self) {
                try Array(line.utf8).withUnsafeBytes { try machine.replay($0) }
            }
        }
    }
}
