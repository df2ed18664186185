import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Pending timers cost a bus nothing, however many there are, until they are due; and then nobody waits for all of them.
@Suite(.inBothModes) struct TimerCostTests {
    private static let stores = 1000
    private static let timersOfEach = 50

    /// A bus with fifty thousand timers, set by one dispatch.
    private func crowded() throws -> MemoryBus {
        let timers = (0..<Self.timersOfEach).map { number in
            "t\(number): { in: { \"+\": [3600, { \"%\": [{ \"*\": [{ var: state.n }, \(number * 7 + 1)] }, 613] }] }, action: tick }"
        }
        let definition = """
            type: crowd
            initial: { n: 0 }
            actions:
              arm: { timers: { \(timers.joined(separator: ", ")) } }
              tick: { increment: { n: 1 } }
            """
        return try TimedBus.make {
            $0.definitions.append(definition)
            $0.stores += (0..<Self.stores).map { "crowd/c\($0)" }
            $0.limits.bus.commit = 1 << 30
        }
    }

    private func arm(_ bus: MemoryBus) throws {
        let armed = try bus.connect().revision(after: #"{"op":"dispatch","type":"crowd","action":"arm"}"#)
        #expect(armed > 0)
        let stats = try bus.connect().reply(to: #"{"op":"stats"}"#)["stats"]
        #expect(stats?["timers"]?.int == Self.stores * Self.timersOfEach)
    }

    /// The work of some dispatches, and the steps that the heap of timers took for them.
    private func cost(of bus: MemoryBus) throws -> (work: Int, steps: Int) {
        let client = bus.connect()
        try client.increment()
        let before = (bus.engine.totalWork, bus.engine.timerSteps)
        for _ in 0..<200 { try client.increment() }
        for _ in 0..<20 {
            try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
            try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"touch"}"#)
            bus.advance(milliseconds: 1)
        }
        return (bus.engine.totalWork - before.0, bus.engine.timerSteps - before.1)
    }

    @Test func pendingTimersCostOtherCommitsNothing() throws {
        let empty = try crowded()
        let bus = try crowded()
        try arm(bus)
        let (alone, crowd) = (try cost(of: empty), try cost(of: bus))
        #expect(crowd.steps == 0)
        #expect(crowd.work == alone.work)
        #expect(alone.work > 0)
    }

    /// Leases that one dispatch has renewed are put in their place in slices, too, and none of them ends.
    @Test(
        .aloneOnly(
            because: "On a shared bus timers fire where its log has come to their time, on all members alike."
        ))
    func renewedLeasesAreLookedAtInSlices() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        for number in 0..<3000 {
            try client.revision(after: #"{"op":"create","store":"loan/l\#(number)"}"#)
        }
        bus.advance(milliseconds: 59_000)
        try client.revision(after: #"{"op":"dispatch","type":"loan","action":"look"}"#)
        let before = (bus.engine.revision, bus.engine.timerSteps)
        bus.engine.beginTurn(at: bus.now + 2000)
        bus.engine.tick()
        var slices = 0
        while bus.engine.hasWork {
            _ = bus.engine.serveNext()
            slices += 1
        }
        #expect(slices >= 5)
        #expect(bus.engine.revision == before.0)
        #expect(bus.engine.timerSteps > before.1 + 3000)
        bus.advance(milliseconds: 60_000)
        #expect(bus.engine.revision == before.0 + 3000)
    }

    /// Setting a timer among many takes the heap's depth, and no more.
    @Test func settingAmongManyIsCheap() throws {
        let bus = try crowded()
        try arm(bus)
        let client = bus.connect()
        let before = bus.engine.timerSteps
        for _ in 0..<50 {
            try client.revision(
                after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":1}"#)
        }
        #expect((1...50 * 30).contains(bus.engine.timerSteps - before))
    }

    /// A bus that was down for long fires in slices what became due meanwhile, and others have their turn between them.
    @Test(
        .aloneOnly(
            because: "On a shared bus timers fire where its log has come to their time, on all members alike."
        ))
    func overdueTimersFireInSlices() throws {
        let bus = try crowded()
        try arm(bus)
        let client = bus.connect()
        let before = bus.engine.revision
        bus.engine.beginTurn(at: bus.now + 24 * 3_600_000)
        bus.engine.tick()
        #expect(bus.engine.revision == before)
        _ = bus.engine.serveNext()
        let first = bus.engine.revision - before
        #expect((1...2000).contains(first))
        #expect(bus.engine.hasWork)
        // Whoever asks now is answered long before all have fired.
        client.queue(#"{"op":"ping"}"#)
        bus.engine.awaitTurn(client.connection)
        var served = 0
        while bus.engine.serveNext() == nil, served < 20 { served += 1 }
        #expect(served < 20)
        bus.engine.serveAll()
        #expect(bus.engine.revision - before == Self.stores * Self.timersOfEach)
        #expect(bus.engine.nextTimer == nil)
    }

    /// A timer that takes long leaves room for others, as every long request: the next one waits, and nothing spins
    /// meanwhile.
    @Test(
        .aloneOnly(
            because: "On a shared bus timers fire where its log has come to their time, on all members alike."
        ))
    func longTimersWaitAtTheGate() throws {
        let bus = try TimedBus.make { $0.stores += (0..<31_000).map { "counter/c\($0)" } }
        let (client, other) = (bus.connect(), bus.connect())
        bus.advance(milliseconds: 60_000)
        for _ in 0..<2 {
            try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment","in":1}"#)
        }
        let before = bus.engine.revision
        bus.advance(milliseconds: 990)
        #expect(try other.isUsable())
        bus.advance(milliseconds: 10)
        #expect(bus.engine.revision == before + 1)
        #expect(bus.engine.nextTimer == nil && bus.engine.nextDeadline != nil)
        bus.advance(milliseconds: 60_000)
        #expect(bus.engine.revision == before + 2)
        #expect(try client.state(of: "counter/c7")?["count"] == 2)
    }
}
