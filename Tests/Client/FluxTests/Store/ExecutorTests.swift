import Dispatch
import Flux
import Synchronization
import Testing

/// One at a time: the tests of the main thread look at what is in line there.
@Suite(.serialized, .mainThread, .timeLimit(.minutes(10))) struct ExecutorTests {
    @MainActor @Test func mainThreadRunsAtOnceWhenNothingIsBefore() {
        let store = Store<Counter>(state: Counter(), executor: .mainThread)
        store.actions.increment()
        #expect(store.state.count == 1)
    }

    @MainActor @Test func mainThreadKeepsTheOrderWithWhatIsWaiting() async {
        let order = Journal<String>()
        onThreads(1) { _ in FluxExecutor.mainThread.execute { order.write("from another thread") } }
        FluxExecutor.mainThread.execute { order.write("from the main thread") }
        #expect(order.entries.isEmpty)
        await withCheckedContinuation { continuation in
            FluxExecutor.mainThread.execute { continuation.resume() }
        }
        #expect(order.entries == ["from another thread", "from the main thread"])
    }

    @MainActor @Test func mainThreadWorkDoesNotNest() async {
        let order = Journal<Int>()
        await withCheckedContinuation { continuation in
            FluxExecutor.mainThread.execute {
                FluxExecutor.mainThread.execute {
                    order.write(2)
                    continuation.resume()
                }
                order.write(1)
            }
        }
        #expect(order.entries == [1, 2])
    }

    @Test func concurrentQueueCommitsOneAfterAnother() async throws {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let store = Store<Counter>(state: Counter(), executor: .queue(queue))
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        for _ in 0..<1000 { store.actions.increment() }
        try await store.state(after: .touch)
        #expect(store.state.count == 1000)
        // The last state may still be with another thread that tells it.
        var told = store.values(\.count).makeAsyncIterator()
        #expect(await told.next() == 1000)
        let entries = seen.entries
        #expect(entries == Array(0..<entries.count))
    }

    @Test func executorThatRunsOutOfOrderDoesNotChangeIt() {
        let manual = ManualExecutor()
        let store = Store<Counter>(state: Counter(), executor: manual.executor)
        let seen = Journal<String?>()
        store.signal(\.note).observe { seen.write($0) }
        store.dispatch([.write("a"), .write("b"), .write("c")])
        manual.step(1)
        #expect(store.state.note == "b")
        manual.step(0)
        #expect(store.state.note == "b")
        manual.step(0)
        #expect(seen.entries == [nil, "a", "b", "c"])
    }

    /// Drops each second piece of work.
    private final class Forgetful: Sendable {
        private let count = Atomic<Int>(0)

        var executor: FluxExecutor {
            FluxExecutor { [self] work in
                if count.add(1, ordering: .relaxed).newValue.isMultiple(of: 2) { work() }
            }
        }
    }

    @Test func nextPieceMakesUpForADroppedOne() {
        let store = Store<Counter>(state: Counter(), executor: Forgetful().executor)
        store.dispatch(.increment())
        #expect(store.state.count == 0)
        store.dispatch(.increment(by: 10))
        #expect(store.state.count == 11)
        let sink = Sink<Int>()
        let seen = Journal<Int>()
        sink.observe(on: Forgetful().executor) { seen.write($0) }
        for value in 1...3 { sink.send(value) }
        #expect(seen.entries == [1, 2])
        sink.send(4)
        #expect(seen.entries == [1, 2, 3, 4])
    }
}
