import FluxBus
import Synchronization
import TestServer
import Testing

/// The daemon starts anew, with a new epoch: everything that follows it goes on, and nothing is guessed.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RestartTests {
    private static let value = """
        type: value
        initial: { value: 7 }
        actions:
          set:
            payload: { value: any }
            set: { value: { var: payload.value } }
        """

    /// The type `counter`, attached by this suite alone.
    struct Total: State, SharedState, Equatable {
        private(set) var sum = 0
        enum Action: Codable, Sendable { case increment(by: Int = 1) }
        static let typeName = "counter"
        static let actions = ActionList<Total>(.increment())
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Total) {
                switch action {
                case .increment(let amount): state.sum += amount
                }
            }
        }
    }

    @Test func remoteStoresShowTheNewHistory() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let plain = try await bus.store("main", of: SharedCounter.self)
        let optimistic = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let own = try await bus.store("own", of: SharedCounter.self, creating: SharedCounter(count: 2))
        let dropped = try await bus.store(
            "dropped", of: SharedCounter.self, creating: SharedCounter(count: 2))
        let others = try await bus.store("dropped", of: SharedCounter.self)
        try await own.dispatch(.increment(by: 30))
        try await bus.drop("counter/dropped")
        for _ in 0..<40 { try await optimistic.dispatch(.increment()) }
        live.stop()
        // What goes out before that is noticed may have been committed by the daemon that has ended.
        while bus.status == .connected { await Task.yield() }
        optimistic.actions.increment(by: 3)
        #expect(optimistic.state.count == 43)
        try live.start()
        for store in [plain, optimistic] {
            for await count in store.values(\.count) where count == 3 { break }
        }
        try await bus.sync()
        #expect(optimistic.pendingCount == 0 && optimistic.state == plain.state)
        #expect(optimistic.revision < 40)
        try await plain.dispatch(.increment())
        #expect(plain.state.count == 4)
        for await count in optimistic.values(\.count) where count == 4 { break }
        // What this program had created and the restart has lost begins again; what was dropped before does not.
        for await count in own.values(\.count) where count == 2 { break }
        #expect(own.status.value == .live)
        try await own.dispatch(.increment())
        #expect(try await own.confirmed().state.count == 3)
        try await bus.drop("counter/own")
        await #expect(throws: BusError.self) { try await own.confirmed() }
        for await status in dropped.status.values where status == .absent { break }
        #expect(others.status.value == .absent)
    }

    @Test func actionsOfAnOutageReachTheStoreThatIsCreatedAgain() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let own = try await bus.store("own", of: SharedCounter.self, creating: SharedCounter(count: 2))
        live.stop()
        while bus.status == .connected { await Task.yield() }
        own.actions.increment()
        try live.start()
        #expect(try await own.confirmed().state.count == 3)
    }

    @Test func revisionFromBeforeARestartIsAConflict() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        let (_, revision) = try await main.confirmed()
        live.stop()
        while bus.status == .connected { await Task.yield() }
        // It goes out when the daemon is there again, where the store has the same revision by chance.
        let outcomes = AsyncStream.makeStream(of: Result<DispatchReply, BusError>.self)
        bus.postDispatch("increment", to: .store("counter/main"), ifRevision: revision) {
            outcomes.continuation.yield($0)
        }
        try live.start()
        var outcome = outcomes.stream.makeAsyncIterator()
        let error = await #expect(throws: BusError.self) { _ = try await outcome.next()?.get() }
        #expect(error?.code == .conflict)
        #expect(try await bus.state(of: "counter/main").state["count"] == 0)
        let (_, next) = try await main.confirmed()
        #expect(next == revision)
        try await main.dispatch(.increment(), ifRevision: next)
    }

    @Test func sharedValueIsUpdatedFromTheNewValue() async throws {
        let live = try LiveBus(types: ["value": Self.value])
        let bus = try await live.connect()
        let level = try await bus.value("level", default: 1)
        try await level.update { $0 + 1 }
        #expect(level.value == 2)
        live.stop()
        let update = Task { try await level.update { $0 + 10 } }
        try live.start()
        #expect(try await update.value == 11, "it begins with its first value again")
        #expect(try await level.read().value == 11)
    }

    /// The new bus knows nothing of what the local stores have seen, and can't tell what they have missed.
    @Test func attachmentThatMissedActionsEnds() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let local = Store<Total>(state: Total())
        let attachment = try await bus.attach(Total.self)
        var problems = attachment.problems.values.makeAsyncIterator()
        Store<Total>.actions.dispatch(.increment(by: 5))
        for await sum in local.values(\.sum) where sum == 5 { break }
        live.stop()
        try live.start()
        guard case .gap? = await problems.next(), case .ended(let error)? = await problems.next() else {
            Issue.record("The gap was not told.")
            return
        }
        #expect(error?.code == .gap)
        #expect(await problems.next() == nil)
        try await bus.dispatch("increment", to: .type("counter"), payload: ["by": 7])
        #expect(local.state.sum == 5)
        let again = try await bus.attach(Total.self)
        Store<Total>.actions.dispatch(.increment(by: 1))
        for await sum in local.values(\.sum) where sum == 6 { break }
        again.detach()
        attachment.detach()
    }

    @Test func attachmentGoesOnWhereTheLogTellsWhatWasMissed() async throws {
        var setup = LiveBus.Setup()
        setup.hasLog = true
        let live = try LiveBus(setup)
        let bus = try await live.connect()
        let local = Store<Total>(state: Total())
        let attachment = try await bus.attach(Total.self)
        let problems = Tally()
        attachment.problems.observe { _ in problems.increment() }
        Store<Total>.actions.dispatch(.increment(by: 5))
        for await sum in local.values(\.sum) where sum == 5 { break }
        live.stop()
        Store<Total>.actions.dispatch(.increment(by: 7))
        try live.start()
        for await sum in local.values(\.sum) where sum == 12 { break }
        #expect(try await bus.state(of: "counter/main").state["count"] == 12)
        #expect(problems.count == 0)
        attachment.detach()
    }

    private final class Tally: Sendable {
        private let number = Atomic<Int>(0)
        var count: Int { number.load(ordering: .relaxed) }
        func increment() { number.add(1, ordering: .relaxed) }
    }
}
