import Dispatch
import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct StoreTests {
    @Test func dispatchIsCommittedWhenItReturns() {
        let store = Store<Counter>(state: Counter())
        store.actions.increment()
        store.actions.increment(by: 2)
        #expect(store.state.count == 3)
        #expect(!store.computed.isEven)
        #expect(store.computed.exceeds(2))
        #expect(store.computed.count == 3)
    }

    @Test func observersGetTheLatestFirstThenEveryChange() {
        let store = Store<Counter>(state: Counter())
        store.actions.increment()
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        store.actions.increment()
        store.actions.increment(by: 5)
        #expect(seen.entries == [1, 2, 7])
    }

    @Test func equalStatesAreNotEmittedUnlessAskedFor() {
        let quiet = Store<Counter>(state: Counter())
        let loud = Store<Counter>(state: Counter(), skipsEqualStates: false)
        let (fromQuiet, fromLoud) = (Journal<Int>(), Journal<Int>())
        quiet.observe { fromQuiet.write($0.count) }
        loud.observe { fromLoud.write($0.count) }
        for store in [quiet, loud] { store.dispatch([.touch, .increment(), .touch]) }
        #expect(fromQuiet.entries == [0, 1])
        #expect(fromLoud.entries == [0, 0, 1, 1])
    }

    @Test func focusTellsOnlyOfItsOwnChangesAndNilIsAValue() {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<String?>()
        store.signal(\.note).observe { seen.write($0) }
        store.dispatch([.increment(), .write("a"), .write("a"), .increment(), .write(nil), .write(nil)])
        #expect(seen.entries == [nil, "a", nil])
        #expect(store.signal(\.note).value == nil)
        #expect(store.signal(\.count).value == 2)
    }

    @Test func listIsSequentialAndEachStateObservable() {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        store.dispatch([.increment(), .fail, .increment(by: 2)])
        #expect(seen.entries == [0, 1, 3])
    }

    @Test func atomicListIsOneChangeOrNone() async throws {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        store.dispatch(atomically: [.increment(), .increment(by: 2)])
        store.dispatch(atomically: [.increment(), .fail, .increment()])
        #expect(seen.entries == [0, 3])
        #expect(try await store.state(afterAtomically: [.reset, .increment()]).count == 1)
        await #expect(throws: Counter.Failure.self) {
            try await store.state(afterAtomically: [.reset, .fail])
        }
        #expect(store.state.count == 1)
    }

    @Test func asynchronousSequenceIsDispatchedAsItComes() async {
        let store = Store<Counter>(state: Counter())
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        let (stream, continuation) = AsyncStream.makeStream(of: Counter.Action.self)
        for amount in 1...3 { continuation.yield(.increment(by: amount)) }
        continuation.finish()
        await store.dispatch(stream)
        #expect(seen.entries == [0, 1, 3, 6])
        let failing = AsyncThrowingStream<Counter.Action, any Error> { continuation in
            continuation.yield(.reset)
            continuation.finish(throwing: Counter.Failure())
        }
        await #expect(throws: Counter.Failure.self) { try await store.actions.dispatch(failing) }
        #expect(store.state.count == 0)
    }

    @Test func dispatchReturnsTheResultingStateOrTheError() async throws {
        let store = Store<Counter>(state: Counter(), executor: .queue(.global()))
        #expect(try await store.state(after: .increment(by: 4)).count == 4)
        #expect(try await store.state(after: [.increment(), .increment()]).count == 6)
        await #expect(throws: Counter.Failure.self) { try await store.state(after: .fail) }
        await #expect(throws: Counter.Failure.self) { try await store.state(after: [.fail, .increment()]) }
        #expect(store.state.count == 7)
    }

    @Test func failureLeavesTheStateAloneAndIsVisible() {
        let store = Store<Counter>(state: Counter())
        let (seen, failures) = (Journal<Int>(), Journal<String>())
        store.observe { seen.write($0.count) }
        store.failures.observe { failures.write("\($0.actions) \($0.error)") }
        store.actions.dispatch(.fail)
        #expect(store.state.count == 0)
        #expect(seen.entries == [0])
        #expect(failures.entries == ["[FluxTests.Counter.Action.fail] Failure()"])
    }

    @Test func initialActionIsCommittedFirst() {
        let store = Store<Counter>(state: Counter(), initialAction: .increment(by: 9))
        #expect(store.state.count == 9)
        let manual = ManualExecutor()
        let later = Store<Counter>(state: Counter(), executor: manual.executor, initialAction: .write("init"))
        later.dispatch(.write("after"))
        manual.step()
        #expect(later.state.note == "init")
        manual.step()
        #expect(later.state.note == "after")
    }

    @Test func streamGivesTheCurrentValueThenChangesAndEndsWithTheStore() async {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        store?.actions.increment()
        let counts = store?.values(\.count)
        var iterator = counts?.makeAsyncIterator()
        store?.dispatch([.increment(), .touch, .write("x"), .increment()])
        store = nil
        var seen: [Int] = []
        while let count = await iterator?.next() { seen.append(count) }
        #expect(seen == [1, 2, 3])
    }

    @Test func wholeStatesAreASequenceToo() async {
        let store = Store<Counter>(state: Counter())
        for await state in store.values {
            if state.count == 3 { break }
            store.actions.increment()
        }
        #expect(store.state.count == 3)
    }

    @Test func sharedStoreWorks() {
        #expect(Self.shared.state.note == nil)
        Self.shared.dispatch(.write("shared"))
        #expect(Self.shared.state.note == "shared")
    }

    private static let shared = Store<Counter>(state: Counter())
}
