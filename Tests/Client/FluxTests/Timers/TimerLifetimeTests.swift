import Flux
import Synchronization
import Testing

/// What timers keep: nothing. What they leave behind: nothing.
@Suite(.timeLimit(.minutes(10))) struct TimerLifetimeTests {
    @Test func timersGoWithTheirStore() {
        let time = ManualClock()
        var store: Store<Lamp>? = Store(state: Lamp(), clock: time.clock)
        weak let watched = store
        let state = store?.constant
        store?.dispatch(.switchOn())
        store?.dispatch(.switchOff(), after: .seconds(5), timer: "other")
        #expect(time.nextAlarm == .seconds(5))
        store = nil
        #expect(watched == nil)
        #expect(time.nextAlarm == nil)
        time.advance(by: .seconds(900))
        #expect(state?.value.isOn == true)
    }

    @Test func actionThatIsDueWhenAStoreGoesNeverHappens() {
        let time = ManualClock()
        let manual = ManualExecutor()
        var store: Store<Lamp>? = Store(
            state: Lamp(), executor: manual.executor, initialAction: .switchOn(seconds: 1), clock: time.clock)
        let state = store?.constant
        manual.runAll()
        time.advance(by: .seconds(1))
        #expect(manual.count == 1)
        store = nil
        manual.runAll()
        #expect(state?.value.isOn == true)
        #expect(time.nextAlarm == nil)
    }

    /// What a timer's action holds is released when the timer goes, however that is.
    @Test func actionsOfTimersAreReleased() {
        final class Token: Sendable {}
        enum Holding {}
        let time = ManualClock()
        let store = Store<Ledger<Holding>>(state: .init(), clock: time.clock)
        func set(_ name: String) -> () -> Bool {
            let token = Token()
            store.dispatch(.call { _ = token }, after: .seconds(1), timer: name)
            return { [weak token] in token != nil }
        }
        let (replaced, cancelled) = (set("a"), set("b"))
        let fired = set("a")
        #expect(!replaced() && cancelled() && fired())
        store.cancelTimer("b")
        #expect(!cancelled() && fired())
        time.advance(by: .seconds(1))
        #expect(!fired())
    }

    @Test func storeWithoutTimersNeverLooksAtItsClock() async throws {
        let looks = Mutex(0)
        let clock = StoreClock(
            now: {
                looks.withLock { $0 += 1 }
                return .zero
            },
            wake: { _, _ in
                looks.withLock { $0 += 1 }
                return Disposable {}
            })
        let store = Store<Counter>(
            state: Counter(), middleware: [Middleware { action, _, next in next(action) }], clock: clock)
        store.dispatch([.increment(), .fail, .reset])
        #expect(looks.withLock { $0 } == 0)
        store.dispatch(.reset, after: .seconds(1), timer: "t")
        #expect(looks.withLock { $0 } > 0)
    }

    /// As long as the clock is going to call anyway, it is not asked again.
    @Test func clockIsAskedOnlyForWhatIsDueEarlier() {
        let calls = Journal<Duration>()
        let clock = StoreClock(now: { .zero }) { time, _ in
            calls.write(time)
            return Disposable {}
        }
        let store = Store<Lamp>(state: Lamp(), clock: clock)
        for seconds in [300, 400, 500, 200, 300] { store.dispatch(.switchOn(seconds: seconds)) }
        #expect(calls.entries == [.seconds(300), .seconds(200)])
    }

    /// A clock that calls too early, or again, does no harm.
    @Test func clockThatCallsTooEarlyIsAskedAgain() {
        let calls = Journal<@Sendable () -> Void>()
        let now = Mutex(Duration.zero)
        let clock = StoreClock(now: { now.withLock { $0 } }) { _, body in
            calls.write(body)
            return Disposable {}
        }
        let store = Store<Lamp>(state: Lamp(), initialAction: .switchOn(seconds: 5), clock: clock)
        calls.entries[0]()
        #expect(store.state.isOn)
        #expect(calls.entries.count == 2)
        now.withLock { $0 = .seconds(5) }
        for call in calls.entries { call() }
        #expect(store.state.reasons == ["timer"])
    }

    // MARK: Real time

    @Test func realTimeFiresTimersInOrderAndNotTooEarly() async {
        let clock = ContinuousClock()
        let store = Store<Lamp>(state: Lamp())
        let start = clock.now
        store.dispatch(.switchOff(reason: "second"), after: .milliseconds(30), timer: "second")
        store.dispatch(.switchOn(seconds: 3600))
        store.dispatch(.switchOff(reason: "first"), after: .milliseconds(20), timer: "first")
        for await reasons in store.values(\.reasons) where reasons.count == 2 { break }
        #expect(start.duration(to: clock.now) >= .milliseconds(30))
        #expect(store.state.reasons == ["first", "second"])
        #expect(store.timers.isEmpty)
    }

    /// Threads set, take away and fire at once: what fires has been set, and nothing fires twice.
    @Test func threadsLoseAndDoubleNothing() async {
        let store = Store<Counter>(state: Counter(), executor: .queue(.global()))
        onThreads(4) { thread in
            for number in 0..<200 {
                let name = "t\(thread)-\(number % 15)"
                store.dispatch(.increment(), after: .milliseconds(10), timer: name)
                if number.isMultiple(of: 8) { store.cancelTimer(name) }
            }
        }
        // Behind all of them in time, and so in order.
        store.dispatch(.write("done"), after: .milliseconds(50), timer: "done")
        for await note in store.values(\.note) where note == "done" { break }
        #expect(store.timers.isEmpty)
        // The last of each name fires, unless it was taken away: of these fifteen, number 192.
        #expect(4 * 14...4 * 175 ~= store.state.count)
    }
}
