import Flux
import Testing

/// The code of the landing page.
struct Count: State, Equatable {
    fileprivate(set) var value = 0

    enum Action: Codable, Sendable { case increment(by: Int = 1), reset }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Count) {
            switch action {
            case .increment(let amount): state.value += amount
            case .reset: state.value = 0
            }
        }
    }
}

extension Actions<Count> {
    func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
}

extension Computed<Count> {
    var isEven: Bool { state.value.isMultiple(of: 2) }
}

struct Light: State, Equatable {
    fileprivate(set) var isOn = false

    enum Action: Codable, Sendable { case switchOn(seconds: Int = 300), switchOff }

    static let timers = TimerRule<Light> { action, state in
        switch action {
        case .switchOn(let seconds): [.set("off", after: .seconds(seconds), .switchOff)]
        case .switchOff: [.cancel("off")]
        }
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Light) {
            switch action {
            case .switchOn: state.isOn = true
            case .switchOff: state.isOn = false
            }
        }
    }
}

/// One at a time: the page dispatches to all stores of the type.
@Suite(.serialized) struct LandingPageTests {
    @Test func landingPage() {
        let seen = Journal<Int>()
        @Sendable func print(_ value: Int) { seen.write(value) }
        let store = Store<Count>(state: Count())
        store.signal(\.value).observe { print($0) }
        let even = store.select(\.isEven)
        store.actions.increment()
        Store<Count>.actions.increment(by: 2)
        #expect(seen.entries == [0, 1, 3])
        #expect(!even.value)
    }

    @Test func observerDispatchesWithoutKeepingItsStore() {
        var owner: Store<Count>? = Store<Count>(state: Count())
        weak let watched = owner
        if let store = owner {
            store.signal(\.value).observe { [actions = store.weakActions] value in
                if value > 9 { actions.dispatch(.reset) }
            }
            store.dispatch([.increment(by: 9), .increment()])
            #expect(store.state.value == 0)
        }
        owner = nil
        #expect(watched == nil)
    }

    @Test func workThatTakesTime() async throws {
        @Sendable func fetchAmount() async throws -> Int { 3 }
        let store = Store<Count>(state: Count())
        let load = Thunk<Count> { store in
            store.dispatch(.increment(by: try await fetchAmount()))
        }
        let task = store.dispatch(load.cancellable(id: "load", cancelInFlight: true))
        try await task.value
        store.cancel(id: "load")  // nothing is under way any more
        #expect(store.state.value == 3)
        #expect(store.cancellableCount == 0)
    }

    @Test func later() async {
        let seen = Journal<Bool>()
        func print(_ value: Bool) { seen.write(value) }
        let time = ManualClock()
        let light = Store<Light>(state: Light(), clock: time.clock)
        light.dispatch(.switchOn())
        await time.advance(by: .seconds(299))
        print(light.state.isOn)  // true
        await time.advance(by: .seconds(1))
        print(light.state.isOn)  // false
        light.dispatch(.switchOn(), after: .seconds(3600), timer: "dusk")
        light.cancelTimer("dusk")
        #expect(seen.entries == [true, false])
        #expect(light.timers.isEmpty)
    }
}
