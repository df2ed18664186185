import FluxBus
import Synchronization
import TestServer
import TestSupport
import Testing

/// What a store on a bus has in common with one of this process: the same code works with both.
@Suite(.timeLimit(.minutes(10))) struct RemoteStoreSharingTests {
    private final class Subscriber: StoreSubscriber {
        let seen = Variable<[Int]>([])

        func newState(_ count: Int) { seen.modify { $0.append(count) } }
    }

    /// What any store can do; gives the last count.
    private func use(_ store: some StateStore<SharedCounter>) async throws -> Int {
        let subscriber = Subscriber()
        store.subscribe(subscriber) { $0.select(\.count) }
        try await store.state(after: .increment(by: 2))
        try await store.state(afterAtomically: [.increment(by: 10), .increment(by: 20)])
        let double = Thunk<SharedCounter> { store in
            store.dispatch(.increment(by: store.state.count))
            store.dispatch(atomically: [])
            try await store.state(after: .increment(by: 0))
        }
        try await store.run(double)
        try await store.dispatch(double.cancellable(id: 1)).value
        let (numbers, input) = AsyncStream.makeStream(of: Int.self)
        for number in [100, 200] { input.yield(number) }
        input.finish()
        try await store.run([
            .action(.increment()), .sequence(numbers.map { .increment(by: $0) }), .thunk(double),
        ])
        _ = try await store.dispatch(.increment())
        store.dispatch([.increment(), .increment()])
        store.weakActions.dispatch(.increment())
        store.binding(\.count) { .increment(by: $0) }.value = 5
        let failures = store.failures.observe { failure in Issue.record("\(failure.error)") }
        #expect(
            try await store.state(after: [.increment(by: -4), .increment(by: -6)]).count == store.state.count)
        failures.dispose()
        let last = store.state.count
        for await seen in subscriber.seen.values where seen.last == last {
            #expect(seen.prefix(3) == [0, 2, 32])
            break
        }
        store.unsubscribe(subscriber)
        return last
    }

    @Test(arguments: [false, true]) func sameCodeWorksWithBothKinds(isOptimistic: Bool) async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let remote = try await bus.store("main", of: SharedCounter.self, isOptimistic: isOptimistic)
        let local = Store<SharedCounter>(state: SharedCounter())
        let (one, other) = (try await use(local), try await use(remote))
        #expect(one == (2 + 30) * 4 * 2 + 301 * 2 + 1 + 2 + 1 + 5 - 4 - 6)
        #expect(other == one)
        #expect(try await remote.confirmed().state.count == one)
    }

    /// All actions of a list are one commit; of one that is refused none is.
    @Test func listIsOneCommit() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: RemoteStoreTests.Limited.self)
        let before = main.revision
        #expect(try await main.state(afterAtomically: [.increment(), .limit(by: 5)]).count == 6)
        #expect(main.revision == before + 1)
        let error = await #expect(throws: BusError.self) {
            try await main.state(afterAtomically: [.increment(), .limit(by: 6)])
        }
        #expect(error?.code == .rejected || error?.code == .invalidPayload)
        #expect(try await main.state(afterAtomically: []).count == 6)
    }

    /// The same without waiting; what is refused is told with all of its actions.
    @Test func listIsOneCommitForWhoDoesNotWait() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: RemoteStoreTests.Limited.self)
        let failures = Variable<[Int]>([])
        main.failures.observe { failure in failures.modify { $0.append(failure.actions.count) } }
        let before = main.revision
        main.dispatch(atomically: [.increment(), .limit(by: 5)])
        main.dispatch(atomically: [.increment(), .limit(by: 6), .increment()])
        main.dispatch(atomically: [])
        for await seen in failures.values where !seen.isEmpty {
            #expect(seen == [3])
            break
        }
        #expect(main.state.count == 6)
        #expect(main.revision == before + 1)
    }

    /// It was dispatched the first time.
    @Test func whatAnObserverDispatchesDuringAReplayIsIgnored() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        let local = Store<SharedCounter>(state: SharedCounter())
        let recorder = Recorder(local)
        local.signal(\.count).observe { count in
            guard count == 1 else { return }
            main.actions.increment()
            main.weakActions.increment(by: 10)
            main.dispatch(atomically: [.increment(by: 100), .increment(by: 100)])
            bus.actions(of: SharedCounter.self).increment(by: 1000)
        }
        local.dispatch([.increment(), .increment()])
        try await bus.sync()
        #expect(main.state.count == 1211)
        try await recorder.replay(upTo: 1)
        try await bus.sync()
        #expect(main.state.count == 1211)
        local.dispatch([.reset, .increment()])
        try await bus.sync()
        #expect(main.state.count == 2422, "after the replay, observers dispatch as ever")
    }

    /// A state whose only mutation does something that it must not do.
    private struct Reaching: State {
        private var count = 0

        enum Action: Sendable { case reach }

        static let body = Mutex<@Sendable () -> Void>({})

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Reaching) {
                state.count += 1
                let body = Reaching.body.withLock { $0 }
                body()
            }
        }
    }

    /// As it can't in a process.
    @Test func mutationCannotDispatchToABus() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let all = try await bus.stores(of: SharedCounter.self)
        let main = try await bus.store("main", of: SharedCounter.self)
        let request = try main.request(.increment())
        let failures = Mutex<[BusError.Code]>([])
        let local = Store<Reaching>(state: Reaching())
        let attempts: [@Sendable () -> Void] = [
            { all.actions.increment() }, { main.actions.increment() },
            {
                bus.actions(of: SharedCounter.self) { error in failures.withLock { $0.append(error.code) } }
                    .increment()
            },
            { bus.postDispatch("increment", to: .type("counter")) },
            { bus.postDispatch([request]) },
        ]
        for attempt in attempts {
            Reaching.body.withLock { $0 = attempt }
            await #expect(throws: FluxError.dispatchInMutation(action: "reach")) {
                try await local.state(after: .reach)
            }
        }
        try await bus.sync()
        #expect(main.state.count == 0)
        #expect(failures.withLock { $0 } == [.invalidRequest])
    }

    @Test func errorOfADispatchedThunkIsAFailure() async throws {
        struct Offline: Error {}
        let live = try LiveBus()
        let main = try await live.connect().store("main", of: SharedCounter.self)
        let failures = Variable<[String]>([])
        main.failures.observe { failure in failures.modify { $0.append("\(failure.error)") } }
        let task = main.dispatch(Thunk { _ in throw Offline() })
        await #expect(throws: Offline.self) { try await task.value }
        for await seen in failures.values where !seen.isEmpty {
            #expect(seen == ["Offline()"])
            break
        }
    }
}
