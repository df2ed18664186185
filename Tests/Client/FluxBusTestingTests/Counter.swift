import FluxBus

/// A shared state of a program under test.
struct Counter: SharedState, Equatable {
    private(set) var count = 0

    enum Action: Codable, Sendable, Equatable { case increment(by: Int = 1) }

    static let actions = ActionList<Counter>(.increment())

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Counter) {
            switch action {
            case .increment(let amount): state.count &+= amount
            }
        }
    }
}

/// What a `RemoteStore` shows at last.
extension RemoteStore<Counter> {
    func reaches(_ count: Int) async -> Bool {
        for await shown in values(\.count) where shown == count { return true }
        return false
    }
}
