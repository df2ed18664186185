import Flux
import Testing

/// Dispatches to all stores of a type, whose outcome is awaited.
@Suite(.timeLimit(.minutes(10))) struct DispatchToAllTests {
    /// A type of its own for each test: others must not reach its stores.
    private struct Tally<Purpose>: State, Equatable {
        var count = 0

        enum Action: Sendable { case add(Int), failAbove(Int) }

        struct Failure: Error, Equatable {}

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Tally) throws {
                switch action {
                case .add(let amount): state.count += amount
                case .failAbove(let limit): if state.count > limit { throw Failure() }
                }
            }
        }
    }

    @Test func statesComeInTheOrderOfCreation() async throws {
        enum Own: Sendable {}
        #expect(try await Store<Tally<Own>>.dispatchToAll(.add(1)).isEmpty)
        let stores = (0..<5).map { Store<Tally<Own>>(state: Tally(count: $0 * 10)) }
        let states = try await Store<Tally<Own>>.dispatchToAll(.add(1))
        #expect(states.map(\.count) == [1, 11, 21, 31, 41])
        #expect(stores.map(\.state) == states)
    }

    @Test func firstErrorIsThrownAfterAllHaveTried() async {
        enum Own: Sendable {}
        let stores = (0..<3).map { Store<Tally<Own>>(state: Tally(count: $0)) }
        await #expect(throws: Tally<Own>.Failure.self) {
            try await Store<Tally<Own>>.dispatchToAll(.failAbove(0))
        }
        withExtendedLifetime(stores) {}
    }

    /// It returns when stores that commit elsewhere have done so.
    @Test func itWaitsForStoresThatCommitElsewhere() async throws {
        enum Own: Sendable {}
        let executor = ManualExecutor()
        let stores = [
            Store<Tally<Own>>(state: Tally(), executor: executor.executor), Store<Tally<Own>>(state: Tally()),
        ]
        let all = Task { try await Store<Tally<Own>>.dispatchToAll(.add(1)).map(\.count) }
        for await count in stores[1].values(\.count) where count == 1 { break }
        #expect(stores[0].state.count == 0)
        executor.runAll()
        #expect(try await all.value == [1, 1])
    }

    @Test func relayDecidesWhenItIsCommitted() async throws {
        enum Own: Sendable {}
        let store = Store<Tally<Own>>(state: Tally())
        let relayed = Journal<Int>()
        let attachment = try Store<Tally<Own>>.attach {
            if case .add(let amount) = $0 { relayed.write(amount) }
        }
        #expect(try await Store<Tally<Own>>.dispatchToAll(.add(3)).isEmpty)
        #expect(relayed.entries == [3])
        #expect(store.state.count == 0)
        attachment.detach()
        #expect(try await Store<Tally<Own>>.dispatchToAll(.add(3)).map(\.count) == [3])
    }
}
