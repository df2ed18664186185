import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct DispatcherTests {
    enum Fetch: Outcome {
        struct Failed: Error, Equatable {}
        typealias Payload = [Int]
        typealias Failure = Failed
    }

    enum Tick: Outcome {
        typealias Payload = Int
        typealias Failure = Never
    }

    struct Refusal: Error, Equatable {}

    let dispatcher = Dispatcher()

    @Test func outcomesAreTypedAndFailuresAreData() async throws {
        let seen = Journal<String>()
        dispatcher.register(Fetch.self) { result, _ in
            switch result {
            case .success(let numbers): seen.write("\(numbers)")
            case .failure(let error): seen.write("\(error)")
            }
        }
        dispatcher.register(Tick.self) { result, _ in seen.write("tick \(result.get())") }
        try dispatcher.dispatch(Fetch.self, .success([1, 2]))
        try dispatcher.dispatch(Fetch.self, .failure(.init()))
        try dispatcher.dispatch(Tick.self, .success(3))
        try await dispatcher.dispatch(Fetch.self) { () async throws(Fetch.Failed) in throw Fetch.Failed() }
        #expect(seen.entries == ["[1, 2]", "Failed()", "tick 3", "Failed()"])
    }

    @Test func unregisteredHandlersAreNotCalledAlsoInTheRunningDispatch() throws {
        let seen = Journal<String>()
        let late = Variable<DispatchToken?>(nil)
        dispatcher.register(Tick.self) { [dispatcher] _, _ in
            seen.write("first")
            if let token = late.value { dispatcher.unregister(token) }
        }
        late.value = dispatcher.register(Tick.self) { _, _ in seen.write("late") }
        try dispatcher.dispatch(Tick.self, .success(1))
        #expect(seen.entries == ["first"])
    }

    @Test func waitForOrdersHandlers() throws {
        let seen = Journal<String>()
        let later = Variable<[DispatchToken]>([])
        dispatcher.register(Tick.self) { _, turn in
            try turn.waitFor(later.value)
            seen.write("first, after the others")
        }
        let second = dispatcher.register(Tick.self) { _, _ in seen.write("second") }
        let third = dispatcher.register(Tick.self) { _, turn in
            try turn.waitFor([second])
            seen.write("third")
        }
        let elsewhere = dispatcher.register(Fetch.self) { _, _ in seen.write("never") }
        later.value = [third, second, elsewhere]
        try dispatcher.dispatch(Tick.self, .success(1))
        #expect(seen.entries == ["second", "third", "first, after the others"])
    }

    @Test func cycleIsAnErrorEvenIfSwallowedAndOthersAreStillCalled() throws {
        let seen = Journal<String>()
        let second = Variable<[DispatchToken]>([])
        let first = dispatcher.register(Tick.self) { _, turn in
            try? turn.waitFor(second.value)
            seen.write("first")
        }
        second.value = [dispatcher.register(Tick.self) { _, turn in try turn.waitFor([first]) }]
        dispatcher.register(Tick.self) { _, _ in seen.write("third") }
        #expect(throws: FluxError.waitCycle(outcome: "Tick")) {
            try dispatcher.dispatch(Tick.self, .success(1))
        }
        #expect(seen.entries == ["first", "third"])
    }

    @Test func waitingForOneselfOrForNobodyIsAnError() {
        let own = Variable<[DispatchToken]>([])
        own.value = [dispatcher.register(Tick.self) { _, turn in try turn.waitFor(own.value) }]
        #expect(throws: FluxError.waitCycle(outcome: "Tick")) {
            try dispatcher.dispatch(Tick.self, .success(1))
        }
        dispatcher.unregister(own.value[0])
        let foreign = Dispatcher().register(Tick.self) { _, _ in }
        dispatcher.register(Tick.self) { _, turn in try turn.waitFor([foreign]) }
        #expect(throws: FluxError.unknownToken(outcome: "Tick")) {
            try dispatcher.dispatch(Tick.self, .success(1))
        }
    }

    @Test func dispatchWhileDispatchingIsQueued() throws {
        let seen = Journal<String>()
        let failures = Journal<String>()
        dispatcher.failures.observe { failures.write("\($0.outcome) \($0.error)") }
        dispatcher.register(Tick.self) { [dispatcher] result, _ in
            seen.write("first \(result.get())")
            if result.get() == 1 { try dispatcher.dispatch(Tick.self, .success(2)) }
        }
        dispatcher.register(Tick.self) { result, _ in
            seen.write("second \(result.get())")
            if result.get() == 2 { throw Refusal() }
        }
        try dispatcher.dispatch(Tick.self, .success(1))
        #expect(seen.entries == ["first 1", "second 1", "first 2", "second 2"])
        #expect(failures.entries == ["Tick Refusal()"])
    }

    @Test func dispatchFromManyThreadsLosesNothing() {
        let numbers = ReduceStore<Int>(0, dispatcher: dispatcher)
        numbers.reduce(Tick.self) { sum, result in sum += result.get() }
        onThreads(8) { [dispatcher] _ in
            for _ in 0..<1_000 { try? dispatcher.dispatch(Tick.self, .success(1)) }
        }
        #expect(numbers.state == 8_000)
    }

    @Test func reduceStoreEmitsOnlyOnChange() throws {
        let parity = ReduceStore<Int?>(nil, dispatcher: dispatcher)
        let seen = Journal<Int?>()
        parity.observe { seen.write($0) }
        parity.reduce(Tick.self) { state, result in state = result.get() == 0 ? nil : result.get() % 2 }
        for number in [0, 1, 3, 5, 2, 0, 0] { try dispatcher.dispatch(Tick.self, .success(number)) }
        #expect(seen.entries == [nil, 1, 0, nil])
    }

    @Test func reduceStoreThatThrowsStaysAndOneThatGoesIsUnregistered() throws {
        var numbers: ReduceStore<Int>? = ReduceStore(0, dispatcher: dispatcher)
        let constant = numbers?.signal
        let token = numbers?.reduce(Tick.self) { state, result in
            state = -1
            if result.get() == 13 { throw Refusal() }
            state = result.get()
        }
        let doubled = ReduceStore<Int>(0, dispatcher: dispatcher)
        doubled.reduce(Tick.self, after: [token].compactMap { $0 }) { [weak numbers] state, _ in
            state = (numbers?.state ?? 0) * 2
        }
        #expect(throws: Refusal.self) { try dispatcher.dispatch(Tick.self, .success(13)) }
        #expect(numbers?.state == 0)
        try dispatcher.dispatch(Tick.self, .success(4))
        #expect(doubled.state == 8)
        numbers = nil
        #expect(throws: FluxError.unknownToken(outcome: "Tick")) {
            try dispatcher.dispatch(Tick.self, .success(5))
        }
        _ = constant
    }

    @Test func reducerThatDispatchesIsRefused() {
        let numbers = ReduceStore<Int>(0, dispatcher: dispatcher)
        let store = Store<Counter>(state: Counter())
        numbers.reduce(Tick.self) { [dispatcher] state, _ in
            state = 1
            store.actions.increment()
            #expect(throws: FluxError.dispatchInMutation(action: "Tick")) {
                try dispatcher.dispatch(Tick.self, .success(2))
            }
        }
        #expect(throws: FluxError.dispatchInMutation(action: "Tick")) {
            try dispatcher.dispatch(Tick.self, .success(1))
        }
        #expect(numbers.state == 0)
        #expect(store.state.count == 0)
    }
}
