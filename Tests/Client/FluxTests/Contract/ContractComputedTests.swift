import Flux
import Testing

/// What is derived from a state can be read and observed like the state itself, also with parameters.
@Suite(.timeLimit(.minutes(10))) struct ContractComputedTests {
    @Test func computedMembersCanBeObserved() {
        let store = Store<Counter>(state: Counter())
        let even = Journal<Bool>()
        let exceeds = Journal<Bool>()
        store.select(\.isEven).observe { even.write($0) }
        store.select { $0.exceeds(2) }.observe { exceeds.write($0) }
        for _ in 0..<3 { store.actions.increment() }
        #expect(even.entries == [true, false, true, false])
        #expect(exceeds.entries == [false, true])
        #expect(store.select(\.count).value == 3)
    }

    @Test func computedMembersAreAsynchronousSequencesToo() async {
        let store = Store<Counter>(state: Counter())
        var even = store.select(\.isEven).values.makeAsyncIterator()
        #expect(await even.next() == true)
        store.actions.increment(by: 2)
        store.actions.increment()
        #expect(await even.next() == false)
    }

    @Test func snapshotBelongsToOneMoment() {
        let store = Store<Counter>(state: Counter())
        let before = store.computed
        store.actions.increment()
        #expect(before.count == 0 && before.isEven)
        #expect(store.computed.count == 1 && !store.computed.isEven)
    }
}
