import Flux
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct RecorderTests {
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

    /// However much is recorded, one more step takes as long as the first.
    @Test func stepsAreAddedInPlace() {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        func time() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let turns = (0..<40).map { _ in
            let start = time()
            for _ in 0..<1_000 { store.actions.increment() }
            return time() - start
        }
        #expect(recorder.recording.steps.count == 40_000)
        let (first, last) = (turns.prefix(10).min()!, turns.suffix(10).min()!)
        #expect(last < 8 * first, "\(last / first) times as long")
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

    @Test func recordingWithoutStepsIsReplayedFromItsFirstState() async throws {
        let store = Store<Counter>(state: Counter())
        let recorder = Recorder(store)
        store.actions.increment()
        let empty = Recording(start: Counter(count: 50))
        #expect(try await recorder.replay(empty).count == 50)
        #expect(recorder.recording == empty)
        store.actions.increment()
        #expect(try await recorder.replay().count == 51)
    }

    @Test func otherRecordersBeginAnewAfterAReplay() async throws {
        let store = Store<Counter>(state: Counter())
        let (recorder, other) = (Recorder(store), Recorder(store))
        store.dispatch([.increment(by: 1), .increment(by: 10)])
        await #expect(throws: FluxError.self) { try await recorder.replay(upTo: 3) }
        #expect(other.recording.steps.count == 2)
        try await recorder.replay(upTo: 1)
        #expect(other.recording == Recording())
        store.dispatch(.increment(by: 100))
        #expect(try await other.replay().count == 101)
        #expect(other.recording.start?.count == 1)
    }

    /// In a file, times are seconds; recordings of earlier releases have them as `Duration` codes itself.
    @Test func timesInFilesAreSeconds() async throws {
        let time = ManualClock()
        let store = Store<Counter>(state: Counter(), clock: time.clock)
        let recorder = Recorder(store)
        for pause in [Duration.zero, .milliseconds(1500), .nanoseconds(100_000_001)] {
            await time.advance(by: pause)
            store.dispatch(.increment())
        }
        let file = try JSONEncoder().encode(recorder.recording)
        let text = String(decoding: file, as: UTF8.self)
        #expect(text.contains(#""time":1.5"#))
        #expect(try JSONDecoder().decode(Recording<Counter>.self, from: file) == recorder.recording)
        let old = #"{"version":1,"steps":[{"actions":[],"time":[0,1500000000000000000]},{"actions":[]}]}"#
        let steps = try JSONDecoder().decode(Recording<Counter>.self, from: Data(old.utf8)).steps
        #expect(steps.map(\.time) == [.milliseconds(1500), .zero])
        for wrong in ["1e300", "\"soon\""] {
            let text = #"{"version":2,"steps":[{"actions":[],"time":\#(wrong)}]}"#
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(Recording<Counter>.self, from: Data(text.utf8))
            }
        }
    }

    @Test func replayOfAStoreThatHasGoneIsAnError() async {
        var store: Store<Counter>? = Store<Counter>(state: Counter())
        let recorder = store.map { Recorder($0) }
        store = nil
        await #expect(throws: FluxError.storeGone(state: "Counter")) { try await recorder?.replay() }
    }
}
