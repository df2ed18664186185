import Flux
import Testing

/// Subscribers as ReSwift has them: held weakly, one subscription each, changed at any moment.
@Suite(.timeLimit(.minutes(10))) struct ContractSubscriberTests {
    final class Reader: StoreSubscriber {
        let seen = Journal<Int>()
        let reaction: @Sendable (Reader, Int) -> Void

        init(_ reaction: @escaping @Sendable (Reader, Int) -> Void = { _, _ in }) { self.reaction = reaction }

        func newState(_ count: Int) {
            seen.write(count)
            reaction(self, count)
        }
    }

    private func counts(_ states: Signal<Counter>) -> Signal<Int> { states.select(\.count) }

    @Test func subscriberThatLeavesInItsFirstCallHearsNothingMore() {
        let store = Store<Counter>(state: Counter())
        let reader = Reader { reader, count in
            store.unsubscribe(reader)
            if count < 5 { store.actions.increment() }
        }
        store.subscribe(reader, counts)
        #expect(store.state.count == 1)
        #expect(reader.seen.entries == [0])
    }

    @Test func subscriptionReplacedInItsFirstCallIsNotCalledAgain() {
        let store = Store<Counter>(state: Counter())
        let reader = Reader { reader, count in
            guard count == 0 else { return }
            store.actions.increment(by: 5)
            store.subscribe(reader) { $0.map { $0.count * 100 }.only(where: { $0 > 0 }) }
        }
        store.subscribe(reader, counts)
        #expect(reader.seen.entries == [0, 500])
    }

    @Test func subscriberAddedDuringDeliveryGetsTheLatestOnceAndThenChanges() {
        let store = Store<Counter>(state: Counter())
        let late = Reader()
        let early = Reader { _, count in
            if count == 1 { store.subscribe(late) { $0.select(\.count) } }
        }
        store.subscribe(early, counts)
        store.dispatch([.increment(), .increment()])
        #expect(early.seen.entries == [0, 1, 2])
        #expect(late.seen.entries == [1, 2])
    }

    @Test func oneSubscriberMayFollowSeveralStores() {
        let stores = (0..<2).map { _ in Store<Counter>(state: Counter()) }
        let reader = Reader()
        for store in stores { store.subscribe(reader, counts) }
        stores[0].dispatch(.increment())
        stores[1].dispatch(.increment(by: 7))
        #expect(reader.seen.entries == [0, 0, 1, 7])
    }

    @Test func repeatsAreToldWhenAskedFor() {
        let store = Store<Counter>(state: Counter(), skipsEqualStates: false)
        let every = Reader()
        let distinct = Reader()
        store.subscribe(every, skipsRepeats: false) { $0.map(\.count) }
        store.subscribe(distinct) { $0.map(\.count) }
        store.dispatch([.touch, .increment()])
        #expect(every.seen.entries == [0, 0, 1])
        #expect(distinct.seen.entries == [0, 1])
    }

    @Test func subscribersOfManyThreadsAreNotKept() {
        let store = Store<Counter>(state: Counter())
        weak var last: Reader?
        onThreads(8) { _ in
            for _ in 0..<100 {
                let reader = Reader()
                store.subscribe(reader) { $0.select(\.count) }
                store.actions.increment()
            }
        }
        do {
            let reader = Reader()
            last = reader
            store.subscribe(reader, counts)
            #expect(reader.seen.entries == [800])
        }
        #expect(last == nil)
        store.actions.increment()
        #expect(store.subscriberCount == 0)
    }
}
