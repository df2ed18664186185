import Flux
import Testing

/// The dispatcher: replaceable, by token, with an order that handlers may ask for, and failures as data.
@Suite(.timeLimit(.minutes(10))) struct ContractDispatcherTests {
    enum Fetch: Outcome {
        enum Failure: Error, Equatable { case offline }
        typealias Payload = Int
    }

    enum Tick: Outcome {
        typealias Payload = Int
        typealias Failure = Never
    }

    @Test func circleOfThreeIsAnErrorAndTheDispatcherGoesOn() throws {
        let dispatcher = Dispatcher()
        let tokens = Variable<[DispatchToken]>([])
        let seen = Journal<Int>()
        tokens.value = (0..<3).map { number in
            dispatcher.register(Fetch.self) { _, turn in
                try turn.waitFor([tokens.value[(number + 1) % 3]])
                seen.write(number)
            }
        }
        #expect(throws: FluxError.self) { try dispatcher.dispatch(Fetch.self, .success(1)) }
        #expect(seen.entries.isEmpty)
        dispatcher.unregister(tokens.value[0])
        #expect(throws: FluxError.self) { try dispatcher.dispatch(Fetch.self, .success(1)) }
        let fresh = Dispatcher()
        fresh.register(Fetch.self) { _, _ in seen.write(9) }
        try fresh.dispatch(Fetch.self, .success(1))
        #expect(seen.entries == [9])
    }

    @Test func waitingForOneselfIsACircle() {
        let dispatcher = Dispatcher()
        let own = Variable<[DispatchToken]>([])
        own.value = [dispatcher.register(Tick.self) { _, turn in try? turn.waitFor(own.value) }]
        #expect(throws: FluxError.self) { try dispatcher.dispatch(Tick.self, .success(1)) }
    }

    @Test func failureIsDataWithItsType() async throws {
        let dispatcher = Dispatcher()
        let seen = Journal<Result<Int, Fetch.Failure>>()
        dispatcher.register(Fetch.self) { result, _ in seen.write(result) }
        try await dispatcher.dispatch(Fetch.self) { () async throws(Fetch.Failure) in throw .offline }
        try await dispatcher.dispatch(Fetch.self) { () async throws(Fetch.Failure) in 3 }
        #expect(seen.entries == [.failure(.offline), .success(3)])
    }

    @Test func reduceStoreTellsOnlyChangesAndKeepsNothingAlive() throws {
        let dispatcher = Dispatcher()
        weak var gone: ReduceStore<Int>?
        let seen = Journal<Int>()
        do {
            let store = ReduceStore(0, dispatcher: dispatcher)
            store.reduce(Tick.self) { value, result in value = result.get() }
            store.observe { seen.write($0) }
            for value in [1, 1, 2, 2] { try dispatcher.dispatch(Tick.self, .success(value)) }
            gone = store
        }
        #expect(gone == nil)
        try dispatcher.dispatch(Tick.self, .success(3))
        #expect(seen.entries == [0, 1, 2])
    }

    @Test func dispatchesFromEightThreadsReachAllHandlersOneAtATime() throws {
        let dispatcher = Dispatcher()
        let inside = Variable(0)
        let sum = ReduceStore(0, dispatcher: dispatcher)
        let overlaps = Journal<Int>()
        let token = sum.reduce(Tick.self) { value, result in value += result.get() }
        dispatcher.register(Tick.self) { _, turn in
            try turn.waitFor([token])
            inside.modify { $0 += 1 }
            if inside.value != 1 { overlaps.write(inside.value) }
            inside.modify { $0 -= 1 }
        }
        onThreads(8) { _ in
            for _ in 0..<100 {
                do { try dispatcher.dispatch(Tick.self, .success(1)) } catch { Issue.record(error) }
            }
        }
        #expect(sum.state == 800)
        #expect(overlaps.entries.isEmpty)
    }
}
