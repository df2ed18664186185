import Dispatch
import Flux
import Testing

/// Dispatching from where it might deadlock or recurse: mutations, observers, middleware.
@Suite(.timeLimit(.minutes(10))) struct DispatchAnywhereTests {
    enum Inner {}
    enum Outer {}

    @Test func dispatchInsideAMutationIsAnErrorNotADeadlock() async {
        typealias State = Ledger<Inner>
        let store = Store<State>(state: State())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        store.dispatch(atomically: [
            .note(.init(thread: 0, number: 0)),
            .call { Store<State>.actions.dispatch(.note(.init(thread: 0, number: 1))) },
        ])
        #expect(store.state.items.isEmpty)
        #expect(failures.entries.count == 1)
        #expect(failures.entries[0].contains("let an action, a middleware or an observer dispatch instead"))
        await #expect(throws: FluxError.self) {
            try await store.state(after: .call { store.actions.dispatch(.note(.init(thread: 0, number: 2))) })
        }
        #expect(store.state.items.isEmpty)
        store.dispatch(.note(.init(thread: 0, number: 3)))
        #expect(store.state.items.map(\.number) == [3])
    }

    @Test func rulesThatAreRunWithoutAStoreKeepTheirPromisesToo() {
        let store = Store<Counter>(state: Counter())
        var counter = Counter()
        #expect(throws: Counter.Failure.self) { try Counter.Mutations().commitPurely(.fail, to: &counter) }
        #expect(counter == Counter())
        var ledger = Ledger<Inner>()
        #expect(throws: FluxError.self) {
            try Ledger<Inner>.Mutations().commitPurely(.call { store.actions.increment() }, to: &ledger)
        }
        #expect(store.state.count == 0)
    }

    @Test func anotherTypesDispatchInsideAMutationIsRefusedToo() async {
        let store = Store<Ledger<Outer>>(state: .init())
        let other = Store<Counter>(state: Counter())
        await #expect(throws: FluxError.self) {
            try await store.state(after: .call { other.actions.increment() })
        }
        #expect(other.state.count == 0)
    }

    @Test func dispatchFromAnObserverIsQueuedForAllObservers() {
        let store = Store<Counter>(state: Counter())
        let (first, second) = (Journal<Int>(), Journal<Int>())
        store.observe { [weak store] state in
            first.write(state.count)
            if state.count == 1 { store?.dispatch([.increment(), .increment()]) }
        }
        store.observe { second.write($0.count) }
        store.actions.increment()
        #expect(first.entries == [0, 1, 2, 3])
        #expect(second.entries == [0, 1, 2, 3])
    }

    @Test func storesThatFollowEachOtherNeitherRecurseNorHang() {
        let ping = Store<Counter>(state: Counter())
        let pong = Store<Counter>(state: Counter())
        ping.observe { [weak pong] in if $0.count < 10_000, $0.count > 0 { pong?.actions.increment() } }
        pong.observe { [weak ping] in if $0.count > 0 { ping?.actions.increment() } }
        ping.actions.increment()
        #expect(ping.state.count == 10_000)
        #expect(pong.state.count == 9_999)
    }

    @Test func observerMayWaitForAThreadThatDispatches() {
        let store = Store<Counter>(state: Counter())
        store.observe { [weak store] state in
            guard state.count == 1, let store else { return }
            onThreads(2) { _ in store.actions.increment() }
        }
        store.actions.increment()
        #expect(store.state.count == 3)
    }

    @Test func executorThatWaitsForItsWorkDoesNotHangAndIsNeverLeft() {
        let queue = DispatchQueue(label: "waiting")
        let mark = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: mark, value: true)
        let waiting = FluxExecutor { work in queue.sync(execute: work) }
        let (seen, onQueue) = (Journal<Int>(), Journal<Bool>())
        let store = Store<Counter>(
            state: Counter(), executor: waiting,
            middleware: [
                Middleware { action, context, next in
                    onQueue.write(DispatchQueue.getSpecific(key: mark) == true)
                    next(action)
                    if context.state.count == 1 { context.actions.increment() }
                }
            ])
        store.observe { [weak store] state in
            seen.write(state.count)
            if state.count == 2 { store?.actions.increment() }
        }
        store.actions.increment()
        #expect(seen.entries == [0, 1, 2, 3])
        #expect(onQueue.entries == [true, true, true])
    }

    @Test func executorMayBeSteppedFromAnObserver() {
        let manual = ManualExecutor()
        let store = Store<Counter>(state: Counter(), executor: manual.executor)
        let seen = Journal<Int>()
        store.observe { state in
            seen.write(state.count)
            if manual.count > 0 { manual.step() }
        }
        store.dispatch([.increment(), .increment(), .increment()])
        manual.step()
        #expect(seen.entries == [0, 1, 2, 3])
    }
}
