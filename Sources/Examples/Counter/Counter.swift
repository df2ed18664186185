import FluxBus

/// The sample type `counter`, as Swift sees it. The daemon's rules are in `config/types/counter.yaml`; the mutations
/// here are the same rules, so that actions can be shown before the bus has committed them.
struct Counter: SharedState, Equatable {
    private(set) var count = 0

    enum Action: Codable, Sendable {
        case increment(by: Int = 1)
        case decrement(by: Int = 1)
        case reset
    }

    static let actions = ActionList<Counter>(.increment(), .decrement(), .reset)

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Counter) {
            switch action {
            case .increment(let amount): state.count += amount
            case .decrement(let amount): state.count -= amount
            case .reset: state.count = 0
            }
        }
    }
}

extension Actions<Counter> {
    func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
    func reset() { dispatch(.reset) }
}

extension Computed<Counter> {
    var isEven: Bool { state.count.isMultiple(of: 2) }
}
