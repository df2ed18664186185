import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct ComposedMutationsTests {
    private func reducer<Part: Sendable>(
        _ lens: Lens<Household, Part>, _ name: String
    ) -> Mutator<Household> {
        Mutator(lens, name: name) { _, _ in .ignored }
    }

    private func conflict(_ mutators: Mutator<Household>...) -> FluxError? {
        do throws(FluxError) {
            _ = try Store<Household>(state: Household(), mutations: Household.Mutations(mutators))
            return nil
        } catch {
            return error
        }
    }

    @Test func everyReducerChangesItsOwnSubState() throws {
        let store = try Store<Household>(state: Household())
        store.dispatch([
            .setTheme("dark"), .setVolume(7), .heat(room: "bath", celsius: 24), .arrive("Ann", 3),
            .count(.increment(by: 4)), .moveIn,
        ])
        #expect(store.state.settings == .init(theme: "dark", volume: 7))
        #expect(store.state.rooms.map(\.celsius) == [20, 24])
        #expect(store.state.guests == ["Ann": 3])
        #expect(store.state.counter.count == 4)
        #expect(store.state.residents == 3)
    }

    @Test func unknownActionIsRefusedVisibly() async throws {
        let store = try Store<Household>(state: Household())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        store.dispatch(.unheardOf)
        #expect(
            failures.entries == [
                "No reducer handles unheardOf; add one that does, or don't dispatch it to this store."
            ])
        await #expect(throws: FluxError.unhandledAction(action: "heatAt(index: 0)")) {
            try await store.state(after: .heatAt(index: 0))
        }
        await #expect(throws: FluxError.self) {
            try await store.state(after: .heat(room: "cellar", celsius: 1))
        }
        await #expect(throws: Counter.Failure.self) { try await store.state(after: .count(.fail)) }
        #expect(store.state == Household())
    }

    @Test func sameSubStateTwiceIsRefused() {
        let whole = Lens(\Household.settings)
        #expect(
            conflict(reducer(whole, "one"), reducer(whole, "two"))
                == .duplicateReducer(first: "one", second: "two"))
        #expect(
            conflict(
                reducer(whole.appending(\.volume), "composed"), reducer(Lens(\.settings.volume), "written"))
                == .duplicateReducer(first: "composed", second: "written"))
        #expect(conflict(reducer(Lens(\.doubled), "a"), reducer(Lens(\.doubled), "b")) != nil)
        let closures = Lens<Household, Int>(get: { $0.residents }, set: { $0.residents = $1 })
        #expect(conflict(reducer(closures, "a"), reducer(closures, "b")) != nil)
    }

    @Test func subStateInsideAnotherOneIsRefused() {
        #expect(
            conflict(reducer(Lens(\.settings.volume), "volume"), reducer(Lens(\.settings), "settings"))
                == .nestedReducer(outer: "settings", inner: "volume"))
        #expect(
            conflict(reducer(Lens(\.self), "all"), reducer(Lens(\.doubled), "doubled"))
                == .nestedReducer(outer: "all", inner: "doubled"))
        #expect(
            conflict(reducer(Lens(\.rooms), "rooms"), reducer(Lens(\.rooms).element(at: 0), "first"))
                == .nestedReducer(outer: "rooms", inner: "first"))
        #expect(
            conflict(
                reducer(Lens(\.rooms).element(id: "bath").appending(\.celsius), "heat"),
                reducer(Lens(\.rooms).element(id: "bath"), "bath"))
                == .nestedReducer(outer: "bath", inner: "heat"))
        #expect(
            conflict(
                Mutator(each: Lens(\.rooms), id: \.room) { _, _ in .ignored },
                reducer(Lens(\.rooms).element(at: 0), "first")) != nil)
    }

    @Test func apartIsApart() {
        let guests = Lens(\Household.guests)
        #expect(
            conflict(
                reducer(Lens(\.settings.volume), "a"), reducer(Lens(\.settings.theme), "b"),
                reducer(Lens(\.rooms).element(id: "bath"), "c"),
                reducer(Lens(\.rooms).element(id: "kitchen"), "d"),
                reducer(guests.value(forKey: "Ann"), "e"), reducer(guests.value(forKey: "Bob"), "f"),
                reducer(Lens(\.counter), "g"), reducer(Lens(\.residents), "h")) == nil)
    }

    @Test func genericCodeCannotEscapeTheCheck() async {
        func make<S: State>(_ state: S, _ mutations: S.Mutations) -> Store<S> {
            Store<S>(state: state, mutations: mutations)
        }
        let twice = reducer(Lens(\.residents), "twice")
        let store = make(Household(), Household.Mutations([twice, twice]))
        await #expect(throws: FluxError.duplicateReducer(first: "twice", second: "twice")) {
            try await store.state(after: .moveIn)
        }
    }

    @Test func initialActionGoesThroughAllReducersAndItsFailureIsKept() throws {
        let seen = Journal<String>()
        let mutators: [Mutator<Household>] = [
            Mutator(\.residents) { _, residents in
                seen.write("residents")
                residents = 1
                return .handled
            },
            Mutator(\.settings) { _, settings in
                seen.write("settings")
                settings.volume = 1
                return .handled
            },
        ]
        let store = try Store<Household>(
            state: Household(), mutations: Household.Mutations(mutators), initialAction: .moveIn)
        #expect(seen.entries == ["residents", "settings"])
        #expect(store.state.settings.volume == 1)
        let broken = try Store<Household>(state: Household(), initialAction: .unheardOf)
        let failures = Journal<String>()
        broken.failures.observe { failures.write("\($0.error)") }
        broken.dispatch(.unheardOf)
        #expect(failures.entries.count == 2)
    }

    @Test func defaultNamesSayWhereTheSubStateIs() {
        let mutator = Mutator(Lens(\Household.rooms).element(id: "bath").appending(\.celsius)) { _, _ in
            .ignored
        }
        #expect(mutator.name.contains("[id: bath]"))
    }

    @Test func closuresAreApartFromKeyPathsToOtherParts() {
        let closures = Lens<Household, Int>(get: { $0.residents }, set: { $0.residents = $1 })
        let inside = Lens(\Household.settings).appending(
            Lens<Household.Settings, Int>(get: { $0.volume }, set: { $0.volume = $1 }))
        #expect(
            conflict(
                reducer(Lens(\.settings), "a"), reducer(closures, "b"), reducer(Lens(\.rooms), "c")) == nil)
        #expect(conflict(reducer(Lens(\.settings.theme), "a"), reducer(inside, "b")) == nil)
        #expect(
            conflict(reducer(Lens(\.settings), "a"), reducer(inside, "b"))
                == .nestedReducer(outer: "a", inner: "b"))
        #expect(
            conflict(reducer(closures, "a"), reducer(Lens(\.self), "b"))
                == .nestedReducer(outer: "b", inner: "a"))
    }

    @Test func partWithoutAReducerStaysAsItBegan() async throws {
        let moveIn = Mutator<Household>(\.residents) { action, residents in
            guard case .moveIn = action else { return .ignored }
            residents += 1
            return .handled
        }
        let store = try Store<Household>(state: Household(), mutations: Household.Mutations([moveIn]))
        store.dispatch([.setTheme("dark"), .moveIn])
        #expect(store.state.settings == Household().settings)
        #expect(store.state.residents == Household().residents + 1)
        await #expect(throws: FluxError.self) { try await store.state(after: .setTheme("dark")) }
    }
}
