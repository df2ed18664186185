import FluxBus
import Synchronization
import TestServer
import Testing

/// Remote stores and shared values over a line that is cut again and again.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RemoteCutTests {
    private static let value = """
        type: value
        initial: { value: null }
        actions:
          set:
            payload: { value: any }
            set: { value: { var: payload.value } }
        """

    private static func connect(_ relay: CuttingRelay) async throws -> Bus {
        var options = BusOptions()
        options.backOff = BackOff(first: .microseconds(50), longest: .microseconds(500))
        options.patience = .seconds(30)
        options.timeout = nil
        return try await Bus.connect(relay.address, options: options)
    }

    /// The last count that an observer saw, and how often it was less than the one before.
    private final class Watch: Sendable {
        private let state = Mutex((last: 0, decreases: 0))
        var decreases: Int { state.withLock { $0.decreases } }
        func note(_ count: Int) {
            state.withLock { state in
                if count < state.last { state.decreases += 1 }
                state.last = count
            }
        }
    }

    /// Counts from any task.
    private final class Tally: Sendable {
        private let count = Atomic<Int>(0)
        func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    /// Two programs count up, one of them optimistically; who has an answer sees what it tells of, what is shown never goes
    /// back, and nothing is counted twice.
    @Test(arguments: [3, 17, 29] as [UInt64]) func everyIncrementCountsOnce(seed: UInt64) async throws {
        let live = try LiveBus()
        let relay = try CuttingRelay(at: live.path("r"), to: live.busAddress, budget: 400..<9000, seed: seed)
        defer { relay.stop() }
        let (first, second) = (try await Self.connect(relay), try await Self.connect(relay))
        let plain = try await first.store("main", of: SharedCounter.self)
        let optimistic = try await second.store("main", of: SharedCounter.self, isOptimistic: true)
        let all = try await second.stores(of: SharedCounter.self)
        let watch = Watch()
        let observation = optimistic.signal.observe { watch.note($0.count) }
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for store in [plain, optimistic] {
                let mine = Tally()
                let isPlain = store === plain
                for _ in 0..<6 {
                    group.addTask {
                        var count = 0
                        while relay.cuts < 250 {
                            let revision = try await store.dispatch(.increment()).revision
                            count += 1
                            // The store is made in the first commit, and each one since then counts. An optimistic
                            // one may wait with those of others until it knows which of its own they hold.
                            let least = isPlain ? revision - 1 : mine.increment()
                            let shown = store.state.count
                            if shown < least { Issue.record("Only \(shown) is shown of \(least).") }
                        }
                        return count
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        relay.becomeKind()
        for store in [plain, optimistic] {
            for await count in store.values(\.count) where count == total { break }
            #expect(store.state.count == total && store.pendingCount == 0)
        }
        for await states in all.values where states["main"]?.count == total { break }
        let auditor = try await live.connect()
        #expect(try await auditor.state(of: "counter/main").state["count"] == .int(total))
        #expect(watch.decreases == 0)
        observation.dispose()
    }

    @Test(arguments: [5, 23] as [UInt64]) func everyUpdateOfASharedValueCountsOnce(seed: UInt64) async throws
    {
        let live = try LiveBus(types: ["value": Self.value])
        let relay = try CuttingRelay(at: live.path("r"), to: live.busAddress, budget: 500..<6000, seed: seed)
        defer { relay.stop() }
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                let bus = try await Self.connect(relay)
                let shared = try await bus.value("total", default: 0)
                group.addTask {
                    var count = 0
                    while relay.cuts < 150 {
                        try await shared.update { $0 + 1 }
                        count += 1
                    }
                    await bus.close()
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        relay.becomeKind()
        let auditor = try await live.connect()
        #expect(try await auditor.value("total", default: -1).value == total)
    }
}
