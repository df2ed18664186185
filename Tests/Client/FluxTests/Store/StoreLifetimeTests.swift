import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct StoreLifetimeTests {
    @Test func whatIsQueuedWhenAStoreGoesNeverHappens() {
        let manual = ManualExecutor()
        var store: Store<Counter>? = Store<Counter>(state: Counter(), executor: manual.executor)
        let state = store?.constant
        store?.dispatch([.increment(), .increment(), .increment()])
        manual.step()
        #expect(state?.value.count == 1)
        store = nil
        manual.runAll()
        #expect(state?.value.count == 1)
    }

    @Test func actionsKeepAStore() {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        weak let watched = store
        let state = store?.constant
        var actions = store?.actions
        store = nil
        actions?.increment()
        #expect(state?.value.count == 1)
        actions = nil
        #expect(watched == nil)
    }

    @Test func observersBindingsAndStreamsDoNotKeepAStore() {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        weak let watched = store
        let binding = store?.binding(\.count) { .increment(by: $0) }
        let values = store?.values(\.count).makeAsyncIterator()
        store?.observe { _ in }
        #expect(watched != nil)
        store = nil
        #expect(watched == nil)
        binding?.value = 5
        #expect(binding?.value == 0)
        _ = values
    }

    @Test func storeMayGoInsideItsOwnObserver() {
        let owner = Variable<Store<Counter>?>(Store(state: Counter()))
        let seen = Journal<Int>()
        owner.value?.observe { state in
            seen.write(state.count)
            if state.count == 1 { owner.value = nil }
        }
        owner.value?.dispatch([.increment(), .increment()])
        #expect(owner.value == nil)
        // The dispatch itself held the store until all of the list was committed.
        #expect(seen.entries == [0, 1, 2])
    }

    @Test func nothingFollowsWhenAStoreGoesInTheMiddleOfItsTurn() {
        enum Leaving {}
        let manual = ManualExecutor()
        let owner = Variable<Store<Ledger<Leaving>>?>(Store(state: .init(), executor: manual.executor))
        let late = Journal<Int>()
        owner.value?.dispatch([.call { owner.value = nil }, .call { late.write(1) }, .call { late.write(2) }])
        // The last piece of work would commit all three.
        manual.step(2)
        #expect(owner.value == nil)
        #expect(late.entries.isEmpty)
    }

    @Test func weakActionsDoNotKeepAStore() {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        weak let watched = store
        let state = store?.constant
        let actions = store?.weakActions
        store?.signal(\.count).observe { [actions] count in
            if count == 1 { actions?.increment(by: 10) }
        }
        actions?.increment()
        #expect(state?.value.count == 11)
        store = nil
        #expect(watched == nil)
        actions?.increment()
        #expect(state?.value.count == 11)
    }
}
