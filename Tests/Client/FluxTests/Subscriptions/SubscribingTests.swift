import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct SubscribingTests {
    final class Reader<Selection: Sendable>: StoreSubscriber {
        let seen = Journal<Selection>()
        let then: @Sendable (Selection) -> Void

        init(then: @escaping @Sendable (Selection) -> Void = { _ in }) { self.then = then }

        func newState(_ state: Selection) {
            seen.write(state)
            then(state)
        }
    }

    @Test func subscriberGetsTheLatestThenNewSelections() {
        let store = Store<Counter>(state: Counter())
        let (whole, notes, rising) = (Reader<Counter>(), Reader<String?>(), Reader<Int>())
        store.subscribe(whole)
        store.subscribe(notes) { $0.select(\.note) }
        store.subscribe(rising) { $0.select(\.count).only(when: { $0 < $1 }) }
        store.dispatch([.increment(), .write("a"), .reset, .write(nil), .increment(by: 5)])
        #expect(whole.seen.entries.map(\.count) == [0, 1, 1, 0, 0, 5])
        #expect(notes.seen.entries == [nil, "a", nil])
        #expect(rising.seen.entries == [0, 1, 5])
    }

    @Test func repeatsAreSkippedByThemselvesUnlessAskedFor() {
        let store = Store<Counter>(state: Counter(), skipsEqualStates: false)
        let (quiet, loud) = (Reader<Int>(), Reader<Int>())
        store.subscribe(quiet) { $0.map(\.count) }
        store.subscribe(loud, skipsRepeats: false) { $0.map(\.count) }
        store.dispatch([.touch, .increment(), .touch])
        #expect(quiet.seen.entries == [0, 1])
        #expect(loud.seen.entries == [0, 0, 1, 1])
    }

    @Test func secondSubscriptionReplacesTheFirst() {
        let store = Store<Counter>(state: Counter())
        let reader = Reader<Int>()
        store.subscribe(reader) { $0.select(\.count) }
        store.subscribe(reader) { $0.select { $0.count * 100 } }
        store.actions.increment()
        #expect(reader.seen.entries == [0, 0, 100])
        store.unsubscribe(reader)
        store.unsubscribe(reader)
        store.actions.increment()
        #expect(reader.seen.entries == [0, 0, 100])
    }

    @Test func subscribersAreNotKept() {
        let store = Store<Counter>(state: Counter())
        var reader: Reader<Counter>? = Reader()
        weak let watched = reader
        let seen = reader?.seen
        if let reader { store.subscribe(reader) }
        reader = nil
        #expect(watched == nil)
        store.actions.increment()
        #expect(seen?.entries.count == 1)
    }

    @Test func releasedSubscribersCostNothingEvenIfTheirPartDoesNotChange() {
        let store = Store<Counter>(state: Counter())
        let selections = Journal<Int>()
        var reader: Reader<String?>? = Reader()
        if let reader {
            store.subscribe(reader) {
                $0.select { state in
                    selections.write(state.count)
                    return state.note
                }
            }
        }
        store.actions.increment()
        reader = nil
        store.dispatch([.increment(), .increment()])
        #expect(selections.entries == [0, 1])
        #expect(store.subscriberCount == 0)
    }

    @Test func subscribingAndUnsubscribingDuringDeliveryIsSafe() {
        let store = Store<Counter>(state: Counter())
        let late = Reader<Counter>()
        let leaving = Reader<Counter>()
        let first = Reader<Counter> { [weak store] state in
            guard state.count == 1 else { return }
            store?.unsubscribe(leaving)
            store?.subscribe(late)
        }
        store.subscribe(first)
        store.subscribe(leaving)
        store.dispatch([.increment(), .increment()])
        #expect(first.seen.entries.map(\.count) == [0, 1, 2])
        #expect(leaving.seen.entries.map(\.count) == [0])
        #expect(late.seen.entries.map(\.count) == [1, 2])
    }

    @Test func subscribingFromManyThreadsWhileDispatching() {
        let store = Store<Counter>(state: Counter())
        onThreads(8) { thread in
            for _ in 0..<300 {
                let reader = Reader<Counter>()
                store.subscribe(reader)
                store.actions.increment()
                if thread % 2 == 0 { store.unsubscribe(reader) }
            }
        }
        #expect(store.state.count == 2_400)
    }

    @Test func selectSkipsNothingForASubscriberThatWantsRepeats() {
        let store = Store<Counter>(state: Counter())
        let (byKeyPath, byClosure, quiet, own) = (Reader<Int>(), Reader<Int>(), Reader<Int>(), Reader<Int>())
        store.subscribe(byKeyPath, skipsRepeats: false) { $0.select(\.count) }
        store.subscribe(byClosure, skipsRepeats: false) {
            $0.only(where: { $0.count < 9 }).select { $0.count }
        }
        store.subscribe(quiet) { $0.select(\.count) }
        store.subscribe(own, skipsRepeats: false) { $0.select(\.count).skipRepeats() }
        store.dispatch([.write("a"), .increment(), .write("b"), .touch])
        #expect(byKeyPath.seen.entries == [0, 0, 1, 1], "the last action left the whole state equal")
        #expect(byClosure.seen.entries == [0, 0, 1, 1])
        #expect(quiet.seen.entries == [0, 1])
        #expect(own.seen.entries == [0, 1])
    }
}
