import Dispatch
import Flux
import Foundation
import Testing

/// Thunks that wait until it is time.
@Suite(.timeLimit(.minutes(10))) struct PacedThunkTests {
    private let time = ManualClock()
    private let store: Store<Counter>

    init() { store = Store(state: Counter(), clock: time.clock) }

    private func add(_ amount: Int) -> Thunk<Counter> {
        Thunk { $0.dispatch(.increment(by: amount)) }
    }

    private func dispatch(_ amount: Int, debounced pause: Int) -> Task<Void, any Error> {
        store.dispatch(add(amount).debounced(id: "a", for: .milliseconds(pause)))
    }

    private func dispatch(_ amount: Int, throttled interval: Int, latest: Bool) -> Task<Void, any Error> {
        store.dispatch(add(amount).throttled(id: "a", for: .milliseconds(interval), latest: latest))
    }

    private func expectCancelled(_ task: Task<Void, any Error>) async {
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: Debounced

    @Test func debouncedOneBeginsWhenNoOtherFollows() async throws {
        let first = dispatch(1, debounced: 300)
        await time.advance(by: .milliseconds(299))
        let second = dispatch(10, debounced: 300)
        await expectCancelled(first)
        await time.advance(by: .milliseconds(299))
        #expect(time.nextAlarm == .milliseconds(599))
        #expect(store.state.count == 0)
        await time.advance(by: .milliseconds(1))
        try await second.value
        #expect(store.state.count == 10)
        #expect(store.cancellableCount == 0)
        #expect(time.nextAlarm == nil)
    }

    @Test func identitiesAndStoresAreDebouncedByThemselves() async throws {
        let elsewhere = Store<Counter>(state: Counter(), clock: time.clock)
        let tasks = [
            store.dispatch(add(1).debounced(id: 1, for: .seconds(1))),
            store.dispatch(add(10).debounced(id: 2, for: .seconds(1))),
            elsewhere.dispatch(add(100).debounced(id: 1, for: .seconds(1))),
        ]
        await time.advance(by: .seconds(1))
        for task in tasks { try await task.value }
        #expect(store.state.count == 11)
        #expect(elsewhere.state.count == 100)
    }

    @Test func debouncedOneThatWaitsIsCancelledByItsIdentity() async {
        let task = dispatch(1, debounced: 300)
        #expect(store.cancellableCount == 1)
        store.cancel(id: "a")
        await expectCancelled(task)
        #expect(time.nextAlarm == nil)
        await time.advance(by: .seconds(1))
        #expect(store.state.count == 0)
    }

    /// It may end before the wait has begun that it is there for.
    @Test func debouncedOneThatIsCancelledAtOnceLeavesNoAlarm() async {
        let (alarms, whenAsked) = (Variable(0), Variable<@Sendable () -> Void>({}))
        let clock = StoreClock {
            .zero
        } wake: { _, _ in
            whenAsked.value()
            alarms.modify { $0 += 1 }
            return Disposable { alarms.modify { $0 -= 1 } }
        }
        let store = Store<Counter>(state: Counter(), clock: clock)
        let hasEnded = DispatchSemaphore(value: 0)
        store.effects.observeEnds { hasEnded.signal() }
        whenAsked.value = { [weak store] in
            store?.cancel(id: "a")
            hasEnded.wait()
        }
        let debounced = add(1).debounced(id: "a", for: .seconds(1))
        await withCheckedContinuation { continuation in
            // It is held up until the thunk has ended, which needs a thread of its own.
            Thread.detachNewThread {
                store.dispatch(debounced)
                continuation.resume()
            }
        }
        #expect(alarms.value == 0)
    }

    @Test func debouncedOneThatIsRunWaitsToo() async throws {
        let run = Task { [store, add] in
            try await store.run(add(3).debounced(id: "a", for: .seconds(2)))
        }
        while time.nextAlarm == nil { await Task.yield() }
        #expect(time.nextAlarm == .seconds(2))
        await time.advance(by: .seconds(2))
        try await run.value
        #expect(store.state.count == 3)
    }

    // MARK: Throttled

    @Test func throttledOneBeginsAtOnceAndTheNextAfterTheInterval() async throws {
        try await dispatch(1, throttled: 1000, latest: false).value
        await time.advance(by: .milliseconds(999))
        await expectCancelled(dispatch(10, throttled: 1000, latest: false))
        #expect(time.nextAlarm == nil)
        await time.advance(by: .milliseconds(1))
        try await dispatch(100, throttled: 1000, latest: false).value
        #expect(store.state.count == 101)
    }

    @Test func lastOfThoseThatComeTooEarlyBeginsWhenTheIntervalIsOver() async throws {
        try await dispatch(1, throttled: 1000, latest: true).value
        await time.advance(by: .milliseconds(400))
        let early = dispatch(10, throttled: 1000, latest: true)
        await time.advance(by: .milliseconds(200))
        let latest = dispatch(100, throttled: 1000, latest: true)
        await expectCancelled(early)
        #expect(time.nextAlarm == .milliseconds(1000))
        await time.advance(by: .milliseconds(400))
        try await latest.value
        #expect(store.state.count == 101)
        // The interval starts over with it.
        await time.advance(by: .milliseconds(500))
        let next = dispatch(1000, throttled: 1000, latest: true)
        #expect(time.nextAlarm == .milliseconds(2000))
        await time.advance(by: .milliseconds(500))
        try await next.value
        await time.advance(by: .milliseconds(1000))
        try await dispatch(10_000, throttled: 1000, latest: true).value
        #expect(store.state.count == 11_101)
        #expect(store.cancellableCount == 0)
    }

    @Test func throttledOneThatIsCancelledBeforeItBeginsUsesNoInterval() async throws {
        try await dispatch(1, throttled: 1000, latest: true).value
        let byIdentity = dispatch(10, throttled: 1000, latest: true)
        store.cancel(id: "a")
        await expectCancelled(byIdentity)
        let byItsTask = dispatch(100, throttled: 1000, latest: true)
        #expect(time.nextAlarm == .seconds(1))
        byItsTask.cancel()
        await expectCancelled(byItsTask)
        await time.advance(by: .seconds(1))
        try await dispatch(1000, throttled: 1000, latest: false).value
        #expect(store.state.count == 1001)
    }

    @Test func throttledOneThatIsUnderWayGoesOn() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let slow = Thunk<Counter> { store in
            for await _ in gate {}
            try Task.checkCancellation()
            store.dispatch(.increment())
        }
        let first = store.dispatch(slow.throttled(id: "a", for: .seconds(1), latest: true))
        let second = dispatch(10, throttled: 1000, latest: true)
        await time.advance(by: .seconds(1))
        try await second.value
        opener.finish()
        try await first.value
        #expect(store.state.count == 11)
    }

    @Test func identitiesThatAreSeenOnceAreForgotten() async throws {
        for number in 0..<1000 {
            try await store.dispatch(add(1).throttled(id: number, for: .seconds(1))).value
            await time.advance(by: .milliseconds(100))
        }
        #expect(store.state.count == 1000)
        #expect(store.effects.throttleCount <= 64)
    }

    // MARK: Clocks

    @Test func realTimePassesByItself() async throws {
        let store = Store<Counter>(state: Counter())
        try await store.dispatch(add(1).debounced(id: 1, for: .milliseconds(1))).value
        try await StoreClock.continuous.sleep(for: .milliseconds(1))
        #expect(store.state.count == 1)
    }

    @Test func sleepEndsAtItsTimeAndWhenItIsCancelled() async throws {
        let (clock, ended) = (time.clock, Journal<String>())
        let task = Task {
            try await clock.sleep(for: .seconds(3))
            ended.write("slept")
        }
        while time.nextAlarm == nil { await Task.yield() }
        await time.advance(by: .milliseconds(2999))
        #expect(time.nextAlarm == .seconds(3))
        #expect(ended.entries.isEmpty)
        await time.advance(by: .milliseconds(1))
        try await task.value
        #expect(ended.entries == ["slept"])
        try await clock.sleep(for: .zero)
        let endless = Task { try await clock.sleep(for: .seconds(1000)) }
        endless.cancel()
        await #expect(throws: CancellationError.self) { try await endless.value }
        #expect(time.nextAlarm == nil)
    }

    @Test func waitsMayBeAsLongAsATimeCanBe() async {
        let store = Store<Counter>(state: Counter())
        let longest = Duration.seconds(Int64.max)
        let tasks = [
            Task { try await StoreClock.continuous.sleep(for: longest) },
            store.dispatch(add(1).debounced(id: 1, for: longest)),
        ]
        for task in tasks {
            task.cancel()
            await expectCancelled(task)
        }
    }

    /// A clock may wake whoever waits too early.
    @Test func wakeThatComesTooEarlyDoesNoHarm() async throws {
        let (now, calls) = (Variable(0), Journal<Duration>())
        let clock = StoreClock {
            .seconds(now.value)
        } wake: { time, body in
            calls.write(time)
            now.modify { $0 += 1 }
            body()
            return Disposable {}
        }
        try await clock.sleep(for: .seconds(4))
        #expect(calls.entries == Array(repeating: .seconds(4), count: 4))
    }
}
