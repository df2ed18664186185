import Flux
import Testing

/// A timer's action is committed at its time, once, and never before.
@Suite(.timeLimit(.minutes(10))) struct TimerTests {
    private let time = ManualClock()

    private func lamp(
        executor: FluxExecutor = .immediate, middleware: [Middleware<Lamp>] = [], first: Lamp.Action? = nil
    ) -> Store<Lamp> {
        Store(
            state: Lamp(), executor: executor, middleware: middleware, initialAction: first, clock: time.clock
        )
    }

    // MARK: The rule of a state

    @Test func timerFiresAtItsTimeAndNotBefore() {
        let store = lamp()
        store.dispatch(.switchOn())
        #expect(store.timers.map(\.name) == ["off"])
        #expect(store.timers.map(\.remaining) == [.seconds(300)])
        #expect(store.timers.map(\.action) == [.switchOff(reason: "timer")])
        time.advance(by: .milliseconds(299_999))
        #expect(store.state.isOn)
        #expect(store.timers.map(\.remaining) == [.milliseconds(1)])
        time.advance(by: .milliseconds(1))
        #expect(!store.state.isOn)
        #expect(store.timers.isEmpty)
        time.advance(by: .seconds(900))
        #expect(store.state.reasons == ["timer"])
    }

    @Test func timerOfTheSameNameIsSetAnew() {
        let store = lamp()
        store.dispatch(.switchOn())
        time.advance(by: .seconds(200))
        store.dispatch(.switchOn())
        time.advance(by: .milliseconds(299_999))
        #expect(store.state.isOn)
        store.dispatch(.switchOn(seconds: 1))
        time.advance(by: .milliseconds(999))
        #expect(store.state.isOn)
        time.advance(by: .milliseconds(1))
        #expect(!store.state.isOn)
        time.advance(by: .seconds(900))
        #expect(store.state.reasons == ["timer"])
    }

    @Test func actionTakesATimerAway() {
        let store = lamp()
        store.dispatch([.switchOn(), .switchOff()])
        #expect(store.timers.isEmpty)
        #expect(time.nextAlarm == nil)
        time.advance(by: .seconds(900))
        #expect(store.state.reasons == ["hand"])
    }

    @Test func initialActionSetsItsTimers() {
        let store = lamp(first: .switchOn(seconds: 2))
        time.advance(by: .seconds(2))
        #expect(store.state.reasons == ["timer"])
    }

    @Test func actionMaySetItsOwnTimerAgainAndSeesTheStateBeforeIt() {
        let store = lamp(first: .blink())
        time.advance(by: .milliseconds(4999))
        #expect(store.state.blinks == 5)
        time.advance(by: .seconds(60))
        #expect(store.state.blinks == 10)
        #expect(time.nextAlarm == nil)
    }

    @Test func nothingRepeatsFasterThanTheShortestDelay() {
        let store = lamp(first: .blink(every: 0))
        #expect(time.nextAlarm == TimerLimits.shortest)
        time.advance(by: TimerLimits.shortest * 2)
        #expect(store.state.blinks == 3)
    }

    @Test func whatFailsLeavesTimersAsTheyWere() async {
        let store = lamp(first: .switchOn())
        let before = store.timers
        for actions: [Lamp.Action] in [
            [.fail], [.switchOff(), .fail], [.switchOn(seconds: 1), .failInTheRule],
            [.switchOff(), .setMany(count: 65)],
        ] {
            await #expect(throws: (any Error).self) { try await store.state(afterAtomically: actions) }
            #expect(store.timers == before)
            #expect(store.state.isOn && store.state.reasons.isEmpty)
        }
    }

    @Test(arguments: [-1, 3653 * 86_400 + 1]) func timeOutOfRangeRefusesTheAction(seconds: Int) async throws {
        let store = lamp()
        let error = await #expect(throws: FluxError.self) {
            try await store.state(after: .switchOn(seconds: seconds))
        }
        #expect("\(try #require(error))".hasPrefix("The timer off can't be set: the time lies "))
        #expect(!store.state.isOn)
        #expect(store.timers.isEmpty)
    }

    @Test func aStoreHasSoManyTimers() async throws {
        let store = lamp()
        store.dispatch(.setMany(count: TimerLimits.timersOfStore))
        #expect(store.timers.count == 64)
        // Set anew, a timer needs no further place.
        try await store.state(after: .setMany(count: 64))
        let error = await #expect(throws: FluxError.self) { try await store.state(after: .switchOn()) }
        #expect(
            error?.description == "The timer off can't be set: the store has 64 timers, which is the limit.")
        await time.advance(by: .seconds(64))
        let numbers: [String] = (0..<64).map { "\($0)" }
        #expect(store.state.reasons == numbers)
    }

    @Test func ruleCanBeAskedWithoutAStore() throws {
        #expect(
            try Lamp.timers.changes(by: .switchOn(seconds: 5), in: Lamp())
                == [.set("off", after: .seconds(5), .switchOff(reason: "timer"))])
        #expect(try Lamp.timers.changes(by: .switchOff(), in: Lamp()) == [.cancel("off")])
        #expect(try Counter.timers.changes(by: .increment(), in: Counter()).isEmpty)
    }

    /// A state whose rule does what it should not.
    struct Meddler: State {
        enum Action: Sendable { case call(@Sendable () -> Void) }
        static let timers = TimerRule<Meddler> { action, _ in
            if case .call(let misdeed) = action { misdeed() }
            return [.set("t", after: .seconds(1), action)]
        }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Meddler) {}
        }
    }

    @Test func dispatchInsideARuleIsRefused() async {
        let counter = Store<Counter>(state: Counter())
        let store = Store<Meddler>(state: Meddler(), clock: time.clock)
        await #expect(throws: FluxError.self) {
            try await store.state(after: .call { counter.dispatch(.increment()) })
        }
        #expect(counter.state.count == 0)
        #expect(store.timers.isEmpty)
    }

    // MARK: Dispatches for later

    @Test func dispatchForLaterIsCommittedThen() {
        let store = Store<Counter>(state: Counter(), clock: time.clock)
        store.dispatch(.increment(by: 3), after: .seconds(60), timer: "tea")
        #expect(store.state.count == 0)
        time.advance(by: .seconds(59))
        #expect(store.state.count == 0)
        time.advance(by: .seconds(1))
        #expect(store.state.count == 3)
        store.dispatch(.increment(), after: .seconds(1), timer: "tea")
        store.cancelTimer("tea")
        store.cancelTimer("none")
        time.advance(by: .seconds(60))
        #expect(store.state.count == 3)
    }

    @Test(arguments: ["", "-", "ä", "a b", String(repeating: "a", count: 65)])
    func wrongNameIsAFailure(name: String) {
        let store = Store<Counter>(state: Counter(), clock: time.clock)
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.actions.count) \($0.error)") }
        store.dispatch(.increment(), after: .seconds(1), timer: name)
        #expect(failures.entries.count == 1)
        #expect(
            failures.entries[0].hasPrefix(
                "1 The timer \(name) can't be set: its name must begin with a letter"))
        #expect(store.timers.isEmpty)
    }

    @Test func dispatchForLaterInsideAMutationIsRefused() async {
        enum Inside {}
        let counter = Store<Counter>(state: Counter(), clock: time.clock)
        let store = Store<Ledger<Inside>>(state: .init())
        await #expect(throws: FluxError.self) {
            try await store.state(
                after: .call { counter.dispatch(.increment(), after: .seconds(1), timer: "t") })
        }
        #expect(counter.timers.isEmpty)
    }

    // MARK: Order

    @Test func timersFireInTheOrderInWhichTheyAreDue() {
        let store = lamp()
        for (name, seconds) in [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 3)] {
            store.dispatch(.switchOff(reason: name), after: .seconds(seconds), timer: name)
        }
        #expect(store.timers.map(\.name) == ["b", "d", "c", "a", "e"])
        time.advance(by: .seconds(10))
        #expect(store.state.reasons == ["b", "d", "c", "a", "e"])
    }

    /// Of two that are due at one time, the first may take the second away.
    @Test func firedActionTakesAnotherDueTimerAway() {
        let store = lamp()
        store.dispatch(.switchOff(reason: "first"), after: .seconds(5), timer: "other")
        store.dispatch(.switchOn(seconds: 5))
        time.advance(by: .seconds(60))
        #expect(store.state.reasons == ["first"])
    }

    @Test func timersAreSetAndFiredAtTheirPlaceInTheOrder() {
        let manual = ManualExecutor()
        let store = lamp(executor: manual.executor)
        store.dispatch(.switchOff())
        store.dispatch(.switchOff(reason: "later"), after: .seconds(1), timer: "off")
        #expect(store.timers.isEmpty, "nothing happens before its turn")
        manual.runAll()
        #expect(store.timers.map(\.name) == ["off"], "the action before does not take it away")
        store.dispatch(.switchOff())
        time.advance(by: .seconds(1))
        #expect(manual.count == 2, "what is due is committed by the executor")
        manual.runAll()
        #expect(store.state.reasons == ["hand", "hand"], "the action before has taken it away")
        #expect(time.nextAlarm == nil)
    }

    @Test func overdueTimerFiresAsSoonAsItIsSet() {
        let manual = ManualExecutor()
        let store = lamp(executor: manual.executor)
        store.dispatch(.switchOn(seconds: 1))
        manual.runAll()
        time.advance(by: .seconds(1))
        store.dispatch(.switchOff(reason: "b"), after: .seconds(1), timer: "b")
        manual.step()
        #expect(store.state.reasons == ["timer"])
        time.advance(by: .seconds(5))
        manual.runAll()
        #expect(store.state.reasons == ["timer"], "it is set when its turn comes")
        time.advance(by: .seconds(1))
        manual.runAll()
        #expect(store.state.reasons == ["timer", "b"])
    }

    @Test func everythingOverdueFires() {
        let manual = ManualExecutor()
        let store = lamp(executor: manual.executor)
        store.dispatch(.setMany(count: 3))
        manual.runAll()
        time.advance(by: .seconds(60))
        #expect(manual.count == 1)
        manual.runAll()
        #expect(store.state.reasons == ["0", "1", "2"])
    }

    /// What the clock does is no dispatch of the mutation that happens to advance it.
    @Test func clockMayBeAdvancedAnywhere() async throws {
        enum Advancing {}
        let time = time
        let lamp = lamp(first: .switchOn(seconds: 1))
        let store = Store<Ledger<Advancing>>(state: .init())
        try await store.state(after: .call { time.advance(by: .seconds(1)) })
        #expect(lamp.state.reasons == ["timer"])
    }

    // MARK: Middleware, recordings, relays

    @Test func firedActionIsADispatchLikeAnyOther() async throws {
        let seen = Journal<Lamp.Action>()
        let store = lamp(middleware: [
            Middleware { action, _, next in
                seen.write(action)
                next(action)
            }
        ])
        let recorder = Recorder(store)
        store.dispatch(.switchOn(seconds: 1))
        store.dispatch(.fail, after: .seconds(2), timer: "fail")
        let failures = Journal<[Lamp.Action]>()
        store.failures.observe { failures.write($0.actions) }
        await time.advance(by: .seconds(2))
        #expect(seen.entries == [.switchOn(seconds: 1), .switchOff(reason: "timer"), .fail])
        #expect(failures.entries == [[.fail]])
        #expect(recorder.recording.steps.count == 2)
        #expect(try await recorder.replay(upTo: 1).isOn)
        #expect(store.timers.isEmpty, "a replay sets no timers")
        #expect(try await recorder.replay().reasons == ["timer"])
    }

    @Test func droppedAndDelayedActionsSetTheirTimersWhenTheyAreCommitted() {
        let held = Journal<@Sendable () -> Void>()
        let store = lamp(middleware: [
            Middleware { action, _, next in
                switch action {
                case .switchOn: held.write { next(action) }
                case .blink: break
                default: next(action)
                }
            }
        ])
        store.dispatch([.switchOn(), .blink()])
        #expect(store.timers.isEmpty)
        held.entries[0]()
        #expect(store.timers.map(\.name) == ["off"])
    }
}
