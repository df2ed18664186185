import Flux
import Testing

@Suite(.timeLimit(.minutes(5))) struct StoreLifetimeTests {
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

    @Test func actionsObserversAndStreamsDoNotKeepAStore() {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        weak let watched = store
        let actions = store?.actions
        let binding = store?.signal(\.count)
        let values = store?.values(\.count).makeAsyncIterator()
        store?.observe { _ in }
        #expect(watched != nil)
        store = nil
        #expect(watched == nil)
        actions?.increment()
        #expect(binding?.value == 0)
        _ = values
    }

    @Test func storeMayGoInsideItsOwnObserver() {
        final class Owner: @unchecked Sendable {
            // Touched by this test's thread only.
            var store: Store<Counter>? = Store<Counter>(state: Counter())
        }
        let owner = Owner()
        let seen = Journal<Int>()
        owner.store?.observe { state in
            seen.write(state.count)
            if state.count == 1 { owner.store = nil }
        }
        owner.store?.dispatch([.increment(), .increment()])
        #expect(owner.store == nil)
        #expect(seen.entries == [0, 1, 2] || seen.entries == [0, 1])
    }
}
