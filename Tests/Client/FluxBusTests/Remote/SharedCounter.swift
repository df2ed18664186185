import FluxBus

/// The sample type `counter` as a Swift state.
struct SharedCounter: SharedState, Equatable {
    private(set) var count = 0

    enum Action: Codable, Sendable, Equatable {
        case increment(by: Int = 1)
        case decrement(by: Int = 1)
        case reset
    }

    static let typeName = "counter"
    static let actions = ActionList<SharedCounter>(.increment(), .decrement(), .reset)

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout SharedCounter) {
            switch action {
            case .increment(let amount): state.count += amount
            case .decrement(let amount): state.count -= amount
            case .reset: state.count = 0
            }
        }
    }

    init() {}

    init(count: Int) { self.count = count }
}

extension Actions<SharedCounter> {
    func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
}
