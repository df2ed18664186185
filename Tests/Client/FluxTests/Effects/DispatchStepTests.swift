import Flux
import Testing

/// Lists of steps, each of which begins when the one before has ended.
@Suite(.timeLimit(.minutes(10))) struct DispatchStepTests {
    private let store = Store<Counter>(state: Counter())
    private let seen = Journal<Int>()

    init() { store.signal(\.count).observe { [seen] in seen.write($0) } }

    @Test func stepsOfAllKindsComeInTheirOrder() async throws {
        let (numbers, input) = AsyncStream.makeStream(of: Int.self)
        for number in [10, 20] { input.yield(number) }
        let work = Thunk<Counter> { [store] one in
            #expect(store.state.count == 31)
            try await one.state(after: .increment(by: 100))
        }
        let run = Task { [store] in
            try await store.run([
                .action(.increment()),
                .sequence(numbers.map { .increment(by: $0) }),
                .thunk(work),
                .atomically([.increment(by: 1000), .increment(by: 2000)]),
            ])
        }
        // The sequence has not ended, so nothing after it has begun.
        for await count in store.values(\.count) where count == 31 { break }
        input.finish()
        try await run.value
        #expect(seen.entries == [0, 1, 11, 31, 131, 3131])
    }

    @Test func firstErrorEndsTheList() async {
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        await #expect(throws: Counter.Failure.self) {
            try await store.run([
                .action(.increment()), .atomically([.increment(), .fail]), .action(.increment(by: 100)),
            ])
        }
        #expect(seen.entries == [0, 1])
        // Who runs them gets the error, and nobody else.
        #expect(failures.entries.isEmpty)
    }

    @Test func cancelledListGoesNoFurther() async {
        let (numbers, input) = AsyncStream.makeStream(of: Counter.Action.self)
        let run = Task { [store] in
            try await store.run([.sequence(numbers), .action(.increment(by: 100))])
        }
        input.yield(.increment())
        for await count in store.values(\.count) where count == 1 { break }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(seen.entries == [0, 1])
    }

    @Test func emptyListDoesNothing() async throws {
        try await store.run([])
        #expect(seen.entries == [0])
    }
}
