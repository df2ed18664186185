import Flux
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct GlobalDispatchTests {
    enum Creation {}
    enum Mixed {}
    enum Relayed {}
    enum Dying {}

    @Test func everyLiveStoreCommitsInTheOrderOfCreation() {
        let calls = Journal<String>()
        typealias State = Ledger<Creation>
        let stores = ["a", "b", "c"].map { name in
            let store = Store<State>(state: State())
            store.observe { state in if !state.items.isEmpty { calls.write(name) } }
            return store
        }
        Store<State>.actions.dispatch(.note(.init(thread: 0, number: 1)))
        #expect(calls.entries == ["a", "b", "c"])
        #expect(stores.allSatisfy { $0.state.items.count == 1 })
    }

    @Test func deadStoresAreSkipped() {
        typealias State = Ledger<Dying>
        let first = Store<State>(state: State())
        var second: Store<State>? = Store<State>(state: State())
        let last = second?.constant
        second = nil
        Store<State>.actions.dispatch(.note(.init(thread: 0, number: 1)))
        #expect(first.state.items.count == 1)
        #expect(last?.value.items.isEmpty == true)
    }

    @Test func allStoresSeeOneTotalOrderFromAnyThread() {
        let stores = (0..<3).map { _ in Store<Chain>(state: Chain()) }
        // Each thread dispatches to all stores and to one of them by turns. What the stores have in common they must have in
        // the same order, and each must have every thread's own order.
        onThreads(8) { thread in
            for number in 0..<2_500 {
                let isGlobal = (thread + number) % 2 == 0
                let actions = isGlobal ? Store<Chain>.actions : stores[thread % 3].actions
                actions.dispatch(.note(thread: thread, number: number, isGlobal: isGlobal))
            }
        }
        for store in stores {
            #expect(store.state.globalCount == 10_000)
            #expect(store.state.hash == stores[0].state.hash)
            #expect(store.state.isInOrder)
        }
    }

    @Test func eightThreadsLoseAndDoubleNothing() {
        let store = Store<Counter>(state: Counter())
        let last = Mutex(-1)
        let outOfOrder = Journal<Int>()
        store.observe { state in
            let before = last.withLock { last in
                defer { last = state.count }
                return last
            }
            if state.count != before + 1 { outOfOrder.write(state.count) }
        }
        let unread = Journal<Int>()
        onThreads(8) { _ in
            var before = 0
            for number in 1...10_000 {
                store.actions.increment()
                let now = store.state.count
                if now < before + 1 || now < number { unread.write(now) }
                before = now
            }
        }
        #expect(store.state.count == 80_000)
        #expect(unread.entries.isEmpty, "A dispatch returned before its commit could be read.")
        #expect(outOfOrder.entries.isEmpty)
    }

    @Test func executorsDoNotChangeTheOrder() async throws {
        typealias State = Ledger<Mixed>
        let executors: [FluxExecutor] = [
            .immediate, .queue(.global()), .queue(.init(label: "own", attributes: .concurrent)),
        ]
        let stores = executors.map { Store<State>(state: State(), executor: $0) }
        onThreads(4) { thread in
            for number in 0..<300 {
                Store<State>.actions.dispatch(.note(.init(thread: thread, number: number)))
            }
        }
        var orders: [[State.Item]] = []
        for store in stores {
            orders.append(try await store.state(after: .note(.init(thread: 9, number: 9))).items)
        }
        #expect(orders[0].count == 1201)
        #expect(orders[0] == orders[1])
        #expect(orders[1] == orders[2])
    }

    @Test func relayTakesGlobalDispatchesAndCommitsThemItself() throws {
        typealias State = Ledger<Relayed>
        let stores = [Store<State>(state: State()), Store<State>(state: State())]
        let relayed = Journal<Int>()
        let attachment = try Store<State>.attach { action in
            if case .note(let item) = action { relayed.write(item.number) }
        }
        #expect(throws: FluxError.relayAttached(state: "Ledger<Relayed>")) {
            _ = try Store<State>.attach { _ in }
        }
        Store<State>.actions.dispatch(.note(.init(thread: 0, number: 1)))
        #expect(relayed.entries == [1])
        #expect(stores.allSatisfy { $0.state.items.isEmpty })
        attachment.commit(.note(.init(thread: 0, number: 2)))
        stores[0].actions.dispatch(.note(.init(thread: 0, number: 3)))
        #expect(stores.map { $0.state.items.map(\.number) } == [[2, 3], [2]])
        attachment.detach()
        attachment.detach()
        attachment.commit(.note(.init(thread: 0, number: 4)))
        Store<State>.actions.dispatch(.note(.init(thread: 0, number: 5)))
        #expect(stores.map { $0.state.items.map(\.number) } == [[2, 3, 5], [2, 5]])
        #expect(relayed.entries == [1])
        try Store<State>.attach { _ in }.detach()
    }
}
