import Dispatch
import Flux
import Testing

/// What the documentation promises of a store: who may change it, when, and what an error leaves behind.
@Suite(.timeLimit(.minutes(10))) struct ContractStoreTests {
    enum Order {}
    enum FromObservers {}
    enum Born {}
    enum Inside {}

    typealias Item = Ledger<Order>.Item

    @Test func globalDispatchGoesByCreationAndInstanceDispatchToOne() {
        typealias S = Ledger<Order>
        let order = Journal<String>()
        let stores = ["a", "b", "c"].map { name in
            let store = Store<S>(state: S())
            store.signal.skip(where: { $0.items.isEmpty }).observe { order.write("\(name)\($0.items.count)") }
            return store
        }
        stores[1].actions.dispatch(.note(.init(thread: 0, number: 0)))
        Store<S>.actions.dispatch(.note(.init(thread: 0, number: 1)))
        // A global dispatch is for living stores, and an optimised program keeps none longer than it is used.
        withExtendedLifetime(stores) {}
        #expect(order.entries == ["b1", "a1", "b2", "c1"])
    }

    @Test func observersOfAllStoresMayDispatchToAllFromEightThreads() {
        typealias S = Ledger<FromObservers>
        let stores = (0..<3).map { _ in Store<S>(state: S()) }
        for store in stores {
            store.observe { state in
                // Every tenth action of a thread is answered, by a global one and by one to the next store.
                guard let last = state.items.last, !last.isGlobal, last.number % 10 == 0 else { return }
                Store<S>.actions.dispatch(
                    .note(.init(thread: last.thread, number: last.number, isGlobal: true)))
            }
        }
        onThreads(8) { thread in
            for number in 1...100 {
                stores[thread % 3].actions.dispatch(.note(.init(thread: thread, number: number)))
            }
        }
        let global = stores.map { $0.state.items.filter(\.isGlobal) }
        #expect(Set(global[0]).count == 80)
        #expect(global[0] == global[1] && global[1] == global[2])
        let own = stores.flatMap { $0.state.items.filter { !$0.isGlobal } }
        #expect(own.count == 800)
    }

    @Test func storesComeAndGoDuringGlobalDispatch() {
        typealias S = Ledger<Born>
        let lasting = Store<S>(state: S())
        onThreads(8) { thread in
            for number in 0..<200 {
                if thread % 2 == 0 {
                    Store<S>.actions.dispatch(.note(.init(thread: thread, number: number, isGlobal: true)))
                } else {
                    let store = Store<S>(state: S())
                    store.actions.dispatch(.note(.init(thread: thread, number: number)))
                    #expect(store.state.items.contains(.init(thread: thread, number: number)))
                }
            }
        }
        #expect(lasting.state.items.count == 800)
        #expect(Set(lasting.state.items).count == 800)
    }

    @Test func staticDispatchInsideAMutationIsRefusedWithASentence() async {
        typealias S = Ledger<Inside>
        let store = Store<S>(state: S())
        let bystander = Store<S>(state: S())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        store.dispatch(.call { Store<S>.actions.dispatch(.note(.init(thread: 0, number: 0))) })
        #expect(failures.entries.count == 1)
        #expect(failures.entries.first?.contains("let an action, a middleware or an observer") == true)
        #expect(store.state.items.isEmpty && bystander.state.items.isEmpty)
        // The thread is not marked for good.
        Store<S>.actions.dispatch(.note(.init(thread: 0, number: 1)))
        #expect(bystander.state.items.count == 1)
    }

    @Test func thunkInsideAMutationIsRefused() async {
        typealias S = Ledger<Inside>
        let store = Store<S>(state: S())
        let started = Variable<Task<Void, any Error>?>(nil)
        let ran = Journal<Int>()
        await #expect(throws: FluxError.self) {
            try await store.state(
                after: .call { started.value = store.dispatch(Thunk { _ in ran.write(1) }) })
        }
        await #expect(throws: FluxError.self) { try await started.value?.value }
        #expect(ran.entries.isEmpty)
    }

    @Test func errorLeavesTheStateAndTellsNobodyOfAChange() async {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.signal(\.count).observe { seen.write($0) }
        await #expect(throws: Counter.Failure.self) { try await store.state(after: .fail) }
        store.dispatch([.increment(), .fail, .increment()])
        store.dispatch(atomically: [.increment(), .fail, .increment()])
        #expect(seen.entries == [0, 1, 2])
    }

    @Test func listShowsEachStateAndTheAtomicFormOnlyTheLast() async throws {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.signal(\.count).observe { seen.write($0) }
        store.dispatch([.increment(), .increment()])
        store.dispatch(atomically: [.increment(), .increment()])
        #expect(try await store.state(after: [.increment(), .increment()]).count == 6)
        #expect(try await store.state(afterAtomically: [.increment(), .increment()]).count == 8)
        #expect(seen.entries == [0, 1, 2, 4, 5, 6, 8])
    }

    @Test func asynchronousSequenceOfActionsIsAnAction() async throws {
        struct Broken: Error {}
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.signal(\.count).observe { seen.write($0) }
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Counter.Action.self)
        for _ in 0..<3 { continuation.yield(.increment()) }
        continuation.finish(throwing: Broken())
        await #expect(throws: Broken.self) { try await store.dispatch(stream) }
        #expect(seen.entries == [0, 1, 2, 3])
    }

    @Test func equalStatesAreSkippedUnlessThatIsSwitchedOff() {
        let quiet = Store<Counter>(state: Counter())
        let loud = Store<Counter>(state: Counter(), skipsEqualStates: false)
        let seen = Journal<String>()
        quiet.observe { _ in seen.write("quiet") }
        loud.observe { _ in seen.write("loud") }
        quiet.dispatch(.touch)
        loud.dispatch(.touch)
        #expect(seen.entries == ["quiet", "loud", "loud"])
    }

    @Test func queuedButNotStartedNeverHappensWhenTheStoreGoes() {
        let manual = ManualExecutor()
        let seen = Journal<Int>()
        let mutated = Journal<Int>()
        enum Gone {}
        var store: Store<Ledger<Gone>>? = Store(state: .init(), executor: manual.executor)
        store?.observe { seen.write($0.items.count) }
        store?.actions.dispatch(.call { mutated.write(1) })
        store?.actions.dispatch(.call { mutated.write(2) })
        manual.step()
        store = nil
        manual.runAll()
        #expect(mutated.entries == [1])
        #expect(seen.entries == [0, 0])
    }

    @Test func initialActionComesFirstWhateverTheExecutor() {
        let manual = ManualExecutor()
        let store = Store<Counter>(
            state: Counter(), executor: manual.executor, initialAction: .increment(by: 5))
        store.dispatch(.reset)
        let seen = Journal<Int>()
        store.signal(\.count).observe { seen.write($0) }
        manual.runAll()
        #expect(seen.entries == [0, 5, 0])
    }
}
