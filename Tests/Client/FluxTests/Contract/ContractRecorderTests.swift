import Flux
import Testing

/// The recorder: what was committed, from none to all of it, without its effects.
@Suite(.timeLimit(.minutes(10))) struct ContractRecorderTests {
    @Test func noneOneAndAll() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        #expect(try await recorder.replay().count == 0)
        store.dispatch(.increment(by: 5))
        #expect(recorder.recording.steps.map(\.actions) == [[.increment(by: 5)]])
        #expect(try await recorder.replay(upTo: 0).count == 0)
        #expect(try await recorder.replay(upTo: 1).count == 5)
        #expect(try await recorder.replay().count == 5)
        await #expect(throws: FluxError.unknownStep(step: 2, count: 1)) {
            try await recorder.replay(upTo: 2)
        }
    }

    @Test func effectsDoNotRunAndObserversHearOneChange() async throws {
        let effects = Journal<Int>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, context, next in
                    next(action)
                    effects.write(context.state.count)
                }
            ])
        let recorder = Recorder(store)
        store.dispatch([.increment(), .increment(), .increment()])
        let seen = Journal<Int>()
        store.signal(\.count).observe { seen.write($0) }
        try await recorder.replay(upTo: 1)
        #expect(effects.entries == [1, 2, 3])
        #expect(seen.entries == [3, 1])
    }

    @Test func failedActionsAreNoStepsAndAtomicListsAreOne() {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.fail, .increment()])
        store.dispatch(atomically: [.increment(), .fail])
        store.dispatch(atomically: [.increment(), .reset])
        #expect(recorder.recording.steps.map(\.actions) == [[.increment()], [.increment(), .reset]])
    }

    @Test func recordingUnderFireReplaysToTheSameState() async throws {
        enum Fire {}
        typealias S = Ledger<Fire>
        let store = Store<S>(state: S())
        let recorder = Recorder(store)
        onThreads(8) { thread in
            for number in 0..<50 { store.dispatch(.note(.init(thread: thread, number: number))) }
        }
        let before = store.state.items
        #expect(try await recorder.replay(upTo: 0).items.isEmpty)
        #expect(try await recorder.replay().items == before)
    }

    @Test func stoppedRecorderKeepsWhatItHas() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch(.increment())
        recorder.stop()
        store.dispatch(.increment())
        #expect(recorder.recording.steps.count == 1)
        #expect(try await recorder.replay().count == 1)
    }
}
