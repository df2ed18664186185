import FluxBus
import TestServer
import Testing

/// The code of the articles "Getting started" and "Across processes", compiled and run as it stands there.
@Suite(.timeLimit(.minutes(10))) struct ArticleTests {
    private static let types = [
        "counter": """
        type: counter
        initial: { count: 0 }
        actions:
          increment: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } }
          reset: { set: { count: 0 } }
        """,
        "value": """
        type: value
        initial: { value: null }
        actions:
          set: { payload: { value: any }, set: { value: { var: payload.value } } }
        """,
        "room": """
        type: room
        initial: { people: [] }
        actions:
          enter: { payload: { name: string }, append: { people: { var: payload.name } } }
          leave: { payload: { name: string }, remove: { people: { var: payload.name } } }
        """,
        "desk": """
        type: desk
        initial: { papers: 0 }
        actions:
          clear: { set: { papers: 0 } }
        """,
        "lamp": """
        type: lamp
        initial: { level: 0 }
        actions:
          dim: { payload: { to: integer }, set: { level: { var: payload.to } } }
        """,
        "thermostat": """
        type: thermostat
        initial: { target: 20 }
        actions:
          setTarget: { payload: { celsius: number }, set: { target: { var: payload.celsius } } }
        """,
    ]

    private func bus() async throws -> (LiveBus, Bus) {
        let live = try LiveBus(types: Self.types)
        return (live, try await live.connect())
    }

    // MARK: - Getting started

    struct Counter: SharedState {
        private(set) var count = 0

        enum Action: Codable, Sendable { case increment(by: Int = 1), reset }

        static let actions = ActionList<Counter>(.increment(), .reset)

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Counter) {
                switch action {
                case .increment(let amount): state.count += amount
                case .reset: state.count = 0
                }
            }
        }
    }

    @Test func stateWorksInOneProcess() {
        let store = Store<Counter>(state: Counter())
        store.actions.increment()
        #expect(store.computed.count == 1)
        #expect(!store.computed.isEven)
    }

    @Test func sameStateWorksOnTheBus() async throws {
        let (live, bus) = try await bus()
        let kitchen = try await bus.store("kitchen", of: Counter.self, creating: Counter())

        kitchen.actions.increment()
        try await kitchen.dispatch(.increment(by: 2))
        #expect(!kitchen.computed.isEven)

        var counts: [Int] = []
        for await count in kitchen.values(\.count) {
            counts.append(count)
            break
        }
        #expect(counts == [3])
        _ = live
    }

    @Test func oneValueIsShared() async throws {
        let (live, bus) = try await bus()
        let volume = try await bus.value("volume", default: 50)
        #expect(volume.value == 50)
        try await volume.set(60)
        try await volume.update { $0 + 5 }
        for await level in volume.values {
            #expect(level == 65)
            break
        }
        _ = live
    }

    @Test func everythingWorksWithoutASwiftType() async throws {
        let (live, bus) = try await bus()
        try await bus.create("thermostat/living")
        try await bus.dispatch("setTarget", to: .store("thermostat/living"), payload: ["celsius": 21])
        let living = try await bus.state(of: "thermostat/living").state
        #expect(living["target"] == 21)
        for try await event in try await bus.subscribe(to: .match("thermostat/*")) {
            guard case .change(let change) = event else { continue }
            #expect(change.states["thermostat/living"] == living)
            break
        }
        _ = live
    }

    // MARK: - Across processes

    struct Room: SharedState {
        var people: [String] = []
        enum Action: Codable, Sendable { case enter(name: String), leave(name: String) }
        static let actions = ActionList<Room>().requiring { .enter(name: $0) }.requiring { .leave(name: $0) }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Room) {
                switch action {
                case .enter(let name): state.people.append(name)
                case .leave(let name): state.people.removeAll { $0 == name }
                }
            }
        }
    }

    struct Desk: SharedState {
        var papers = 0
        enum Action: Codable, Sendable { case clear }
        static let actions = ActionList<Desk>(.clear)
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Desk) { state.papers = 0 }
        }
    }

    struct Lamp: SharedState {
        var level = 0
        enum Action: Codable, Sendable { case dim(to: Int) }
        static let actions = ActionList<Lamp>().requiring { .dim(to: $0) }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Lamp) {
                switch action {
                case .dim(let level): state.level = level
                }
            }
        }
    }

    @Test func onlyIfNothingHasChanged() async throws {
        let (live, bus) = try await bus()
        let kitchen = try await bus.store("kitchen", of: Counter.self, creating: Counter())
        let (state, revision) = try await kitchen.confirmed()
        try await kitchen.dispatch(.increment(by: 10 - state.count), ifRevision: revision)
        #expect(kitchen.state.count == 10)
        _ = live
    }

    @Test func severalStoresAtOnce() async throws {
        let (live, bus) = try await bus()
        let from = try await bus.store("from", of: Counter.self, creating: Counter())
        let to = try await bus.store("to", of: Counter.self, creating: Counter())
        try await bus.dispatch([from.request(.increment(by: -1)), to.request(.increment())])
        #expect((from.state.count, to.state.count) == (-1, 1))
        bus.actions(of: Counter.self).increment()
        try await bus.sync()
        #expect((from.state.count, to.state.count) == (0, 2))
        _ = live
    }

    @Test func processThatGoesLeavesNothingBehind() async throws {
        let (live, other) = try await bus()
        try await other.create("room/lounge")
        let mine = try await live.connect()
        let room = try await mine.store("lounge", of: Room.self)
        try await mine.setWill([room.request(.leave(name: "anna"))])
        try await room.dispatch(.enter(name: "anna"))
        let desk = try await mine.store("anna", of: Desk.self, creating: Desk(), isEphemeral: true)
        #expect(desk.state.papers == 0)
        let watched = try await other.store("lounge", of: Room.self)
        #expect(watched.state.people == ["anna"])
        await mine.close()
        for await people in watched.values(\.people) where people.isEmpty { break }
        #expect(try await other.stores(matching: "desk/*").stores.isEmpty)
    }

    @Test func actionComesLater() async throws {
        let (live, bus) = try await bus()
        try await bus.create("lamp/desk")
        let lamp = try await bus.store("desk", of: Lamp.self)
        try await lamp.dispatch(.dim(to: 0), after: .seconds(300), timer: "off")
        #expect(try await bus.timers().timers.map(\.action) == ["dim"])
        try await lamp.cancelTimer("off")
        #expect(try await bus.timers().timers.isEmpty)
        _ = live
    }

    @Test func optimisticStoreShowsAtOnce() async throws {
        let (live, bus) = try await bus()
        try await bus.create("lamp/desk")
        let lamp = try await bus.store("desk", of: Lamp.self, isOptimistic: true)
        lamp.actions.dim(to: 40)
        #expect(lamp.state.level == 40)
        _ = live
    }

    @Test func errorsAreOneType() async throws {
        let (live, bus) = try await bus()
        let kitchen = try await bus.store("kitchen", of: Counter.self, creating: Counter())
        do {
            try await kitchen.dispatch(.increment(by: .max))
            try await kitchen.dispatch(.increment(by: .max))
            Issue.record("The sum is larger than any integer.")
        } catch {
            switch error.code {
            case .rejected, .invalidPayload: #expect(error.message.contains("counter/kitchen"))
            default: throw error
            }
        }
        _ = live
    }
}

extension Actions<ArticleTests.Counter> {
    fileprivate func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
}

extension Computed<ArticleTests.Counter> {
    fileprivate var isEven: Bool { state.count.isMultiple(of: 2) }
}

extension Actions<ArticleTests.Lamp> {
    fileprivate func dim(to level: Int) { dispatch(.dim(to: level)) }
}
