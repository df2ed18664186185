import Flux
import Testing

/// Reducers of sub-states: one each, checked when the store is made, whatever the sub-state is.
@Suite(.timeLimit(.minutes(10))) struct ContractSubstateTests {
    private func store(_ mutators: [Mutator<Household>]) throws -> Store<Household> {
        try Store(state: Household(), mutations: Household.Mutations(mutators))
    }

    private func ignoring<Part: Sendable>(_ lens: Lens<Household, Part>) -> Mutator<Household> {
        Mutator(lens) { _, _ in .ignored }
    }

    private let moveIn = Mutator<Household>(\.residents) { action, residents in
        guard case .moveIn = action else { return .ignored }
        residents += 1
        return .handled
    }

    @Test func absentElementStopsOnlyWhatIsMeantForIt() async throws {
        let cellar = Mutator<Household>(Lens(\.rooms).element(id: "cellar")) { action, room in
            guard case .heat("cellar", let celsius) = action else { return .ignored }
            room.celsius = celsius
            return .handled
        }
        let store = try store([cellar, moveIn])
        #expect(try await store.state(after: .moveIn).residents == 3)
        let error = await #expect(throws: FluxError.self) {
            try await store.state(after: .heat(room: "cellar", celsius: 9))
        }
        guard case .missingElement = error else {
            Issue.record("The error must say that the element is missing, not \(String(describing: error)).")
            return
        }
    }

    @Test func nobodyForAnActionIsAnErrorAndNothingChanges() async throws {
        let store = try store([moveIn])
        await #expect(throws: FluxError.unhandledAction(action: "unheardOf")) {
            try await store.state(afterAtomically: [.moveIn, .unheardOf])
        }
        #expect(store.state == Household())
    }

    @Test func elementWrittenAsASubscriptIsInsideItsCollection() {
        #expect(throws: FluxError.self) { try store([ignoring(Lens(\.rooms)), ignoring(Lens(\.rooms[0]))]) }
        #expect(throws: FluxError.self) {
            try store([ignoring(Lens(\.rooms[0].celsius)), ignoring(Lens(\.rooms))])
        }
        #expect(throws: FluxError.self) {
            try store([ignoring(Lens(\.guests)), ignoring(Lens(\.guests["Ann"]))])
        }
        #expect(throws: FluxError.self) {
            try store([ignoring(Lens(\.rooms[0].celsius)), ignoring(Lens(\.rooms[0]))])
        }
    }

    @Test func elementsWrittenAsDifferentSubscriptsAreApart() throws {
        _ = try store([ignoring(Lens(\.rooms[0])), ignoring(Lens(\.rooms[1]))])
        _ = try store([ignoring(Lens(\.guests["Ann"])), ignoring(Lens(\.guests["Bob"])), moveIn])
    }

    @Test func deepSubStateInsideAComposedStateIsChecked() {
        let inner = Mutator<Household>(
            each: Lens(\.rooms), id: \.room, reduce: { _, _ in .ignored })
        #expect(throws: FluxError.self) {
            try store([inner, ignoring(Lens(\.rooms).element(id: "bath").appending(\.celsius))])
        }
    }

    @Test func dictionaryValueIsAddedChangedAndRemoved() async throws {
        let store = try Store<Household>(state: Household())
        #expect(try await store.state(after: .arrive("Ann", 1)).guests == ["Ann": 1])
        #expect(try await store.state(after: .arrive("Ann", 2)).guests == ["Ann": 2])
        #expect(try await store.state(after: .arrive("Ann", nil)).guests == [:])
    }

    @Test func focusIsTheSubStateAloneAndSkipsWhatIsEqual() throws {
        let store = try Store<Household>(state: Household())
        let seen = Journal<Int>()
        store.signal(\.settings.volume).observe { seen.write($0) }
        store.dispatch([.setTheme("dark"), .setVolume(6), .setVolume(6), .moveIn])
        #expect(seen.entries == [5, 6])
    }
}
