import Dispatch
import Flux
import Testing

/// Where commits and observers run, and that the order is kept there.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ContractExecutorTests {
    @Test(.mainThread) func mainThreadKeepsTheOrderOfEachThread() async {
        enum Main {}
        typealias S = Ledger<Main>
        let store = Store<S>(state: S(), executor: .mainThread)
        let isOnMain = Journal<Bool>()
        store.observe { _ in isOnMain.write(MainMark.isCurrent) }
        await withTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<100 { store.dispatch(.note(.init(thread: thread, number: number))) }
                }
            }
        }
        await withCheckedContinuation { continuation in
            FluxExecutor.mainThread.execute { continuation.resume() }
        }
        #expect(store.state.items.count == 400)
        for thread in 0..<4 {
            #expect(store.state.items.filter { $0.thread == thread }.map(\.number) == Array(0..<100))
        }
        #expect(isOnMain.entries.dropFirst().allSatisfy { $0 })
    }

    @Test func queueRunsCommitsThereAndFirstInFirstOut() async throws {
        enum Queued {}
        typealias S = Ledger<Queued>
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "marked")
        queue.setSpecific(key: key, value: true)
        let places = Journal<Bool>()
        let store = Store<S>(state: S(), executor: .queue(queue))
        store.dispatch(.call { places.write(DispatchQueue.getSpecific(key: key) == true) })
        for number in 0..<100 { store.dispatch(.note(.init(thread: 0, number: number))) }
        let state = try await store.state(after: .note(.init(thread: 0, number: 100)))
        #expect(places.entries == [true])
        #expect(state.items.map(\.number) == Array(0...100))
    }

    @Test func executorOfOnesOwnSeesEveryPieceOfWork() {
        let manual = ManualExecutor()
        let store = Store<Counter>(state: Counter(), executor: manual.executor)
        store.dispatch([.increment(), .increment()])
        #expect(manual.count == 2 && store.state.count == 0)
        manual.step()
        #expect(store.state.count == 1)
        manual.step()
        #expect(store.state.count == 2)
    }

    @Test func executorThatWaitsForItsWorkSurroundsEveryCommit() {
        enum Guarded {}
        typealias S = Ledger<Guarded>
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "guarding")
        queue.setSpecific(key: key, value: true)
        let places = Journal<Bool>()
        let store = Store<S>(state: S(), executor: FluxExecutor { work in queue.sync(execute: work) })
        let place: @Sendable () -> Void = { places.write(DispatchQueue.getSpecific(key: key) == true) }
        store.signal(\.items).observe { items in
            // From an observer, too, and without waiting for itself.
            if items.count == 1 { store.dispatch([.note(.init(thread: 0, number: 2)), .call(place)]) }
        }
        store.dispatch([.note(.init(thread: 0, number: 1)), .call(place)])
        #expect(store.state.items.map(\.number) == [1, 2])
        #expect(places.entries == [true, true])
    }

    @Test func workThatAnExecutorDoesInsideAnObserverWaitsForItsEnd() {
        let manual = ManualExecutor()
        let store = Store<Counter>(state: Counter(), executor: manual.executor)
        let order = Journal<String>()
        let sink = Sink<Int>()
        store.signal(\.count).observe { order.write("count \($0)") }
        sink.observe { _ in
            store.dispatch(.increment())
            manual.runAll()
            order.write("first has ended")
        }
        sink.observe { _ in order.write("second has ended") }
        store.dispatch(.increment())
        sink.send(1)
        manual.runAll()
        #expect(order.entries == ["count 0", "first has ended", "second has ended", "count 1", "count 2"])
    }

    @Test func immediateDispatchCanBeReadWhenItReturnsFromEightThreads() {
        enum Read {}
        typealias S = Ledger<Read>
        let store = Store<S>(state: S())
        onThreads(8) { thread in
            for number in 0..<200 {
                let item = S.Item(thread: thread, number: number)
                store.actions.dispatch(.note(item))
                #expect(store.state.items.contains(item))
            }
        }
        #expect(store.state.items.count == 1600)
    }

    /// Tells whether the main queue runs the caller.
    private enum MainMark {
        private static let key: DispatchSpecificKey<Bool> = {
            let key = DispatchSpecificKey<Bool>()
            DispatchQueue.main.setSpecific(key: key, value: true)
            return key
        }()

        static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
    }
}
