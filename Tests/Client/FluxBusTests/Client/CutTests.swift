import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// A real daemon, a real client, and a line between them that is cut thousands of times while tasks dispatch.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CutTests {
    /// A mirror kept by a callback.
    private final class Observer: Sendable {
        let mirror: Mutex<BusMirror>
        let failure = Mutex<BusError?>(nil)

        init(_ format: BusMirror.Format) { mirror = Mutex(BusMirror(format: format)) }

        var revision: Int { mirror.withLock { $0.revision } }

        func take(_ event: SubscriptionEvent) {
            if case .ended(let error) = event { return failure.withLock { $0 = error } }
            mirror.withLock { mirror in
                do throws(BusError) { _ = try mirror.fold(event) } catch { failure.withLock { $0 = error } }
            }
        }
    }

    /// A client that connects again at once, and waits for its replies.
    private static func connect(through relay: CuttingRelay) async throws -> Bus {
        var options = BusOptions()
        options.backOff = BackOff(first: .microseconds(50), longest: .microseconds(500))
        options.patience = .seconds(30)
        options.timeout = nil
        return try await Bus.connect(relay.address, options: options)
    }

    @Test func thousandsOfCutsLoseNothingAndDoubleNothing() async throws {
        let live = try LiveBus()
        let relay = try CuttingRelay(at: live.path("r"), to: live.busAddress, budget: 200..<12_000, seed: 7)
        defer { relay.stop() }
        let bus = try await Self.connect(through: relay)
        let observers = BusMirror.Format.allCases.map(Observer.init)
        var handles: [SubscriptionHandle] = []
        for observer in observers {
            var wanted = Bus.SubscriptionOptions()
            wanted.format = observer.mirror.withLock { $0.format }
            handles.append(
                try await bus.subscribe(to: .type("counter"), options: wanted) { observer.take($0) })
        }
        try await bus.create("counter/mine", isEphemeral: true)
        let (dispatched, duplicates) = try await dispatchUntilCut(2000, bus, relay, observers)
        relay.becomeKind()
        try await bus.sync()
        let auditor = try await live.connect()
        let states = try await auditor.get(.type("counter")).states
        #expect(states["counter/main"]?["count"] == .int(dispatched))
        #expect(states["counter/mine"] != nil)
        #expect(duplicates > 0)
        try await bus.dispatch("ring", to: .type("counter"))
        for observer in observers {
            #expect(observer.failure.withLock { $0 } == nil)
            let seen = observer.mirror.withLock { $0.states }
            #expect(seen == Dictionary(uniqueKeysWithValues: states.members.map { ($0.key, $0.value) }))
        }
        await bus.close()
    }

    /// Thirty tasks dispatch one after the other until the line was cut so often. Gives the successes, which are all, and
    /// how many of them had been committed before their answer was lost.
    private func dispatchUntilCut(
        _ cuts: Int, _ bus: Bus, _ relay: CuttingRelay, _ observers: [Observer]
    ) async throws -> (dispatched: Int, duplicates: Int) {
        try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<30 {
                group.addTask {
                    var (count, duplicates) = (0, 0)
                    while relay.cuts < cuts {
                        let reply = try await bus.dispatch("increment", to: .store("counter/main"))
                        count += 1
                        if reply.isDuplicate { duplicates += 1 }
                        for observer in observers where observer.revision < reply.revision {
                            Issue.record("A mirror at \(observer.revision) lags behind \(reply.revision).")
                        }
                    }
                    return (count, duplicates)
                }
            }
            return try await group.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    @Test func withoutKeysALostAnswerIsSaidToBeUnknown() async throws {
        let live = try LiveBus()
        let relay = try CuttingRelay(at: live.path("r"), to: live.busAddress, budget: 900..<3000, seed: 11)
        defer { relay.stop() }
        var options = BusOptions()
        options.backOff = BackOff(first: .microseconds(50), longest: .microseconds(500))
        options.patience = .seconds(30)
        options.usesKeys = false
        let bus = try await Bus.connect(relay.address, options: options)
        var (succeeded, unknown) = (0, 0)
        while relay.cuts < 200 {
            do throws(BusError) {
                try await bus.dispatch("increment", to: .store("counter/main"))
                succeeded += 1
            } catch {
                #expect(error.code == .outcomeUnknown, "\(error)")
                unknown += 1
            }
        }
        relay.becomeKind()
        let count = try await bus.state(of: "counter/main").state["count"]?.int ?? -1
        #expect(unknown > 0)
        #expect(count >= succeeded && count <= succeeded + unknown)
    }

    /// A cut is no absence: what the client would leave behind waits for it, and only its end commits the will.
    @Test func cutsCommitNoWill() async throws {
        let live = try LiveBus()
        let relay = try CuttingRelay(at: live.path("r"), to: live.busAddress, budget: 400..<3000, seed: 11)
        defer { relay.stop() }
        let bus = try await Self.connect(through: relay)
        try await bus.create("counter/mine", isEphemeral: true)
        try await bus.setWill([ActionRequest("increment", to: .store("counter/main"), payload: ["by": 1000])])
        var dispatched = 0
        while relay.cuts < 100 {
            try await bus.dispatch("increment", to: .store("counter/main"))
            dispatched += 1
        }
        relay.becomeKind()
        try await bus.sync()
        let auditor = try await live.connect()
        let states = try await auditor.get(.type("counter")).states
        #expect(states["counter/main"]?["count"] == .int(dispatched))
        #expect(states["counter/mine"] != nil)
        let events = try await auditor.subscribe(to: .type("counter"))
        await bus.close()
        var mirror = BusMirror()
        for try await event in events {
            _ = try mirror.fold(event)
            if mirror.states["counter/mine"] == nil { break }
        }
        #expect(mirror.states["counter/main"]?["count"] == .int(dispatched + 1000))
    }
}
