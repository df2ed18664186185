import Flux
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RecorderTests {
    @Test func replaysAllAndUpToAnyStepAlsoExactlyOne() async throws {
        let store = Store<Counter>(state: Counter(), initialAction: .increment(by: 100))
        let recorder = Recorder(store)
        #expect(try await recorder.replay().count == 100)
        store.actions.increment()
        #expect(try await recorder.replay(upTo: 0).count == 100)
        #expect(try await recorder.replay(upTo: 1).count == 101)
        #expect(try await recorder.replay().count == 101)
        store.dispatch([.increment(), .fail, .increment()])
        store.dispatch(atomically: [.reset, .increment(by: 7)])
        #expect(recorder.recording.steps.map(\.actions.count) == [1, 1, 1, 2])
        #expect(try await recorder.replay(upTo: 3).count == 103)
        #expect(try await recorder.replay().count == 7)
        await #expect(throws: FluxError.unknownStep(step: 5, count: 4)) { try await recorder.replay(upTo: 5) }
    }

    @Test func replayIsOneChangeWithoutMiddlewareOrThunks() async throws {
        let effects = Journal<String>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    effects.write("\(action)")
                    next(action == .touch ? .increment(by: 10) : action)
                }
            ])
        let recorder = Recorder(store)
        let work = Thunk<Counter> { store in
            effects.write("thunk")
            store.dispatch(.touch)
        }
        try await store.run(work)
        store.actions.increment()
        let before = effects.entries
        let seen = Journal<Int>()
        store.observe { seen.write($0.count) }
        try await recorder.replay(upTo: 0)
        try await recorder.replay()
        #expect(seen.entries == [11, 0, 11])
        #expect(effects.entries == before)
        #expect(recorder.recording.steps.flatMap(\.actions) == [.increment(by: 10), .increment()])
    }

    @Test func commitAfterAReplayFollowsTheStepThatIsShown() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.increment(by: 1), .increment(by: 10), .increment(by: 100)])
        try await recorder.replay(upTo: 1)
        store.actions.increment(by: 1000)
        #expect(try await recorder.replay().count == 1001)
        #expect(recorder.recording.steps.count == 2)
        recorder.stop()
        store.actions.increment()
        #expect(recorder.recording.steps.count == 2)
    }

    @Test func recordingIsCodableAndReplaysElsewhere() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.increment(by: 3), .write("x")])
        let file = try JSONEncoder().encode(recorder.recording)
        let recording = try JSONDecoder().decode(Recording<Counter>.self, from: file)
        #expect(recording == recorder.recording)
        let other = Store<Counter>(state: Counter())
        let player = Recorder(other)
        #expect(try await player.replay(recording, upTo: 1).count == 3)
        #expect(try await player.replay() == store.state)
    }

    @Test func replayOfAStoreThatHasGoneIsAnError() async {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        let recorder = store.map { Recorder($0) }
        store = nil
        await #expect(throws: FluxError.storeGone(state: "Counter")) { try await recorder?.replay() }
    }

    /// What observers dispatched when the recorded commits were made is in the recording; a replay must not add it again.
    @Test func whatObserversOfAReplayDispatchIsIgnored() async throws {
        let store = Store<Counter>(state: Counter())
        let manual = ManualExecutor()
        let recorder = Recorder(store)
        let scope = DisposableScope()
        let keepEven: @Sendable (Counter) -> Void = { [actions = store.weakActions] in
            if !$0.count.isMultiple(of: 2) { actions.increment() }
        }
        store.observe(until: scope, keepEven)
        store.actions.increment(by: 5)
        #expect(store.state.count == 6)
        store.observe(until: scope, on: manual.executor, keepEven)
        manual.runAll()
        let recorded = recorder.recording
        for step in [0, 1, 2, 1, 0] {
            let state = try await recorder.replay(upTo: step)
            manual.runAll()
            #expect(store.state == state)
            #expect(state.count == [0, 5, 6][step])
        }
        #expect(recorder.recording == recorded)
    }

    /// A dispatch to all stores goes to the others; and what is dispatched to others, or by their observers, counts.
    @Test func replayIgnoresWhatIsForItsOwnStoreOnly() async throws {
        let (store, other) = (Store<Light>(state: Light()), Store<Light>(state: Light()))
        let recorder = Recorder(store)
        store.actions.dispatch(.add(1))
        let scope = DisposableScope()
        other.observe(until: scope) { [actions = store.weakActions] in
            if $0.level == 7 { actions.dispatch(.add(100)) }
        }
        store.signal.only(where: { $0.level == 0 }).observe(until: scope) { _ in
            Store<Light>.actions.dispatch(.add(7))
        }
        try await recorder.replay(upTo: 0)
        #expect(other.state.level == 7)
        // Its observer dispatches later than the replay, in a place of its own.
        #expect(store.state.level == 100)
    }

    /// A type of this suite alone, for dispatches to all stores of it.
    struct Light: State, Equatable {
        var level = 0

        enum Action: Sendable { case add(Int) }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Light) {
                switch action {
                case .add(let amount): state.level += amount
                }
            }
        }
    }

    @Test func thunkThatAnObserverOfAReplayStartsFails() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.actions.increment()
        let tasks = Journal<Task<Void, any Error>>()
        let observation = store.signal.observe { [weak store] _ in
            guard let store else { return }
            tasks.write(store.dispatch(Thunk { $0.dispatch(.increment(by: 10)) }))
        }
        try await tasks.entries[0].value
        try await recorder.replay(upTo: 0)
        observation.dispose()
        await #expect(throws: FluxError.dispatchInReplay(action: "a thunk")) {
            try await tasks.entries.last?.value
        }
    }

    @Test func replayThatFailsLosesNothing() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.increment(), .increment()])
        let recorded = recorder.recording
        let broken = Recording<Counter>(steps: [.init(actions: [.increment(by: 7)]), .init(actions: [.fail])])
        await #expect(throws: Counter.Failure.self) { try await recorder.replay(broken) }
        await #expect(throws: FluxError.unknownStep(step: 3, count: 2)) {
            try await recorder.replay(broken, upTo: 3)
        }
        #expect(recorder.recording == recorded)
        #expect(store.state.count == 2)
        #expect(try await recorder.replay(broken, upTo: 1).count == 7)
        #expect(recorder.recording.steps == broken.steps)
    }

    @Test func recordingBeginsAtItsOwnStartAndKnowsWhen() async throws {
        let time = ManualClock()
        let store = Store<Counter>(
            state: Counter(), initialAction: .increment(by: 100), clock: time.clock)
        time.advance(by: .seconds(5))
        let recorder = Recorder(store)
        time.advance(by: .seconds(2))
        store.actions.increment()
        time.advance(by: .milliseconds(500))
        store.actions.increment()
        #expect(recorder.recording.start?.count == 100)
        #expect(recorder.recording.steps.map(\.time) == [.seconds(2), .milliseconds(2500)])
        let file = try JSONEncoder().encode(recorder.recording)
        let recording = try JSONDecoder().decode(Recording<Counter>.self, from: file)
        let player = Recorder(Store<Counter>(state: Counter()))
        await #expect(throws: FluxError.self) { try await player.replay(recording) }
        let other = Store<Counter>(state: Counter())
        #expect(try await Recorder(other).replay(recording).count == 102)
    }

    @Test func recordingsHaveAVersion() throws {
        func read(_ text: String) throws -> Recording<Counter> {
            try JSONDecoder().decode(Recording<Counter>.self, from: Data(text.utf8))
        }
        let step = #"{"actions":[{"reset":{}}]}"#
        #expect(try read("{\"steps\":[\(step)]}") == Recording(steps: [.init(actions: [.reset])]))
        let newer = #expect(throws: DecodingError.self) { try read(#"{"version":2,"steps":[]}"#) }
        #expect(newer.map { "\($0)".contains("update it") } == true)
    }
}
