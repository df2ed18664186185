import Flux
import Foundation
import Testing

/// Replays change nothing but the state that is shown: neither what was recorded, nor anything else.
@Suite(.timeLimit(.minutes(10))) struct ReplayTests {
    @Test func observersDispatchesAreIgnoredDuringAReplay() async throws {
        let store = Store<Counter>(state: Counter())
        let other = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        let relay = Sink<Int>()
        relay.observe { [actions = store.weakActions] count in
            if count == 1 { actions.dispatch(.write("one")) }
        }
        store.signal(\.count).observe { [actions = store.weakActions] count in
            relay.send(count)
            if count == 1 { actions.dispatch([.increment(by: 10), .increment(by: 100)]) }
            if count == 1 { other.dispatch(.increment()) }
        }
        store.dispatch(.increment())
        #expect(store.state.count == 111)
        #expect(recorder.recording.steps.count == 4)
        let recorded = recorder.recording
        let replayed = try await recorder.replay(upTo: 1)
        #expect(replayed.count == 1)
        #expect(store.state.count == 1)
        #expect(recorder.recording == recorded)
        #expect(other.state.count == 1, "effects in other stores are not repeated")
        #expect(try await recorder.replay().count == 111)
        store.dispatch(.increment())
        #expect(store.state.count == 112)
    }

    @Test func whatAnExecutorDeliversLaterIsIgnoredToo() async throws {
        let manual = ManualExecutor()
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.signal(\.count).observe(on: manual.executor) { [actions = store.weakActions] count in
            if count == 1 { actions.increment(by: 10) }
        }
        store.dispatch([.increment(), .reset])
        manual.runAll()
        #expect(store.state.count == 10)
        try await recorder.replay(upTo: 1)
        manual.runAll()
        #expect(store.state.count == 1)
        #expect(recorder.recording.steps.count == 3)
        store.dispatch(.reset)
        store.dispatch(.increment())
        manual.runAll()
        #expect(store.state.count == 11, "after the replay, observers dispatch as ever")
    }

    @Test func thunkThatAnObserverDispatchesDuringAReplayDoesNotStart() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.increment(), .increment()])
        let tasks = Journal<Task<Void, any Error>>()
        let runs = Journal<Int>()
        store.signal(\.count).observe { [weak store] count in
            guard count == 1, let store else { return }
            tasks.write(store.dispatch(Thunk { _ in runs.write(count) }))
        }
        try await recorder.replay(upTo: 1)
        await #expect(throws: CancellationError.self) { try await tasks.entries[0].value }
        #expect(runs.entries.isEmpty)
    }

    @Test func outcomeThatAnObserverDispatchesDuringAReplayIsIgnored() async throws {
        let dispatcher = Dispatcher()
        let ticks = ReduceStore<Int>(0, dispatcher: dispatcher)
        ticks.reduce(DispatcherTests.Tick.self) { sum, result in sum += result.get() }
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.signal(\.count).observe { count in
            try? dispatcher.dispatch(DispatcherTests.Tick.self, .success(count))
        }
        store.dispatch([.increment(), .increment()])
        #expect(ticks.state == 3)
        try await recorder.replay(upTo: 1)
        #expect(ticks.state == 3)
        store.dispatch(.increment(by: 9))
        #expect(ticks.state == 13, "after the replay, observers dispatch as ever")
    }

    @Test func replayThatThrowsKeepsWhatWasRecorded() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.dispatch([.increment(), .increment(by: 2)])
        let recorded = recorder.recording
        let bad = Recording<Counter>(steps: [.init(actions: [.increment(by: 50)]), .init(actions: [.fail])])
        await #expect(throws: Counter.Failure.self) { try await recorder.replay(bad) }
        #expect(recorder.recording == recorded)
        #expect(store.state.count == 3)
        await #expect(throws: FluxError.unknownStep(step: 3, count: 2)) {
            try await recorder.replay(bad, upTo: 3)
        }
        #expect(recorder.recording == recorded)
        #expect(try await recorder.replay(upTo: 1).count == 1)
    }

    @Test func recordingCarriesItsFirstStateTimesAndVersion() async throws {
        let time = ManualClock()
        let store = Store<Counter>(state: Counter(), initialAction: .increment(by: 7), clock: time.clock)
        await time.advance(by: .seconds(5))
        let recorder = Recorder(store)
        await time.advance(by: .seconds(2))
        store.dispatch(.increment())
        await time.advance(by: .milliseconds(1_500))
        store.dispatch(.increment())
        let recording = recorder.recording
        #expect(recording.start?.count == 7)
        #expect(recording.steps.map(\.time) == [.seconds(2), .milliseconds(3_500)])
        let file = try JSONEncoder().encode(recording)
        #expect(try #require(String(bytes: file, encoding: .utf8)).contains(#""version":2"#))
        let read = try JSONDecoder().decode(Recording<Counter>.self, from: file)
        #expect(read == recording)
        let elsewhere = Store<Counter>(state: Counter())
        #expect(try await Recorder(elsewhere).replay(read).count == 9)
    }

    /// Something that a state holds, and that does something when it is released.
    private final class Keepsake: Sendable {
        let whenReleased: @Sendable () -> Void

        init(whenReleased: @escaping @Sendable () -> Void) { self.whenReleased = whenReleased }

        deinit { whenReleased() }
    }

    private struct Shelf: State {
        var keepsake: Keepsake?

        enum Action: Sendable { case put(Keepsake?) }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Shelf) {
                switch action {
                case .put(let keepsake): state.keepsake = keepsake
                }
            }
        }
    }

    /// Where a recorder lets go of steps: a commit after a replay, a replay of another recorder, and one of another recording.
    @Test func whatIsNoLongerRecordedMayReadTheRecording() async throws {
        let store = Store<Shelf>(state: Shelf())
        let recorder = Recorder(store)
        let left = Journal<Int>()
        func keep() {
            let keepsake = Keepsake { [weak recorder] in
                if let recorder { left.write(recorder.recording.steps.count) }
            }
            store.dispatch([.put(keepsake), .put(nil)])
        }
        keep()
        try await recorder.replay(upTo: 0)
        store.dispatch(.put(nil))
        #expect(left.entries == [1])
        keep()
        try await Recorder(store).replay()
        #expect(left.entries == [1, 0])
        keep()
        recorder.stop()
        try await recorder.replay(Recording())
        #expect(left.entries == [1, 0, 0])
    }

    @Test func recordingsOfEarlierReleasesAreReadAndOfLaterOnesRefused() throws {
        let old = Data(#"{"steps": [{"actions": [{"increment": {"by": 3}}]}]}"#.utf8)
        let read = try JSONDecoder().decode(Recording<Counter>.self, from: old)
        #expect(read == Recording(steps: [.init(actions: [.increment(by: 3)])]))
        let later = Data(#"{"version": 3, "steps": []}"#.utf8)
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Recording<Counter>.self, from: later)
        }
        #expect("\(String(describing: error))".contains("The recording has version 3"))
    }
}
