import Flux
import Testing

/// Reducers that read the whole state.
@Suite(.timeLimit(.minutes(10))) struct WholeStateTests {
    private func store(_ mutators: Mutator<Household>...) throws -> Store<Household> {
        try Store(state: Household(), mutations: Household.Mutations(mutators))
    }

    private let moveIn = Mutator<Household>(\.residents) { action, residents in
        guard case .moveIn = action else { return .ignored }
        residents += 1
        return .handled
    }

    @Test func reducerReadsWhatThoseBeforeItHaveLeft() throws {
        let store = try store(
            moveIn,
            Mutator(\.settings.volume) { action, volume, whole in
                guard case .moveIn = action else { return .ignored }
                volume = whole.residents * 10 + whole.settings.volume
                return .handled
            })
        store.dispatch(.moveIn)
        #expect(store.state.residents == 3)
        #expect(store.state.settings.volume == 35)
    }

    @Test func itHasItsPartForItselfAndNoOther() throws {
        #expect(throws: FluxError.self) {
            try store(moveIn, Mutator(\.residents) { _, _, _ in .ignored })
        }
        let named = Mutator<Household>(Lens(\.settings), name: "settings") { _, _, _ in .ignored }
        #expect(named.name == "settings")
    }

    @Test func whatItThrowsRollsBackAndAnAbsentPartIsTold() async throws {
        let store = try store(
            Mutator(Lens(\.rooms).element(id: "cellar")) { action, room, whole in
                guard case .heat("cellar", _) = action else { return .ignored }
                room.celsius = whole.residents
                return .handled
            },
            Mutator(\.guests) { action, guests, whole in
                guard case .arrive(let name, _) = action else { return .ignored }
                guests[name] = whole.guests.count
                if whole.guests.count == 1 { throw Counter.Failure() }
                return .handled
            })
        let error = await #expect(throws: FluxError.self) {
            try await store.state(after: .heat(room: "cellar", celsius: 9))
        }
        guard case .missingElement = error else {
            Issue.record("The error must say that the element is missing, not \(String(describing: error)).")
            return
        }
        #expect(try await store.state(after: .arrive("Ann", 1)).guests == ["Ann": 0])
        await #expect(throws: Counter.Failure.self) { try await store.state(after: .arrive("Bob", 1)) }
        #expect(store.state.guests == ["Ann": 0])
    }
}
