import FluxBus

/// A state in which order shows: entries stand as they were committed, and none may stand twice.
struct Ledger: SharedState, Equatable {
    private(set) var entries: [Int] = []

    enum Action: Codable, Sendable, Equatable {
        case add(entry: Int)
        case clear
    }

    static let actions = ActionList<Ledger>(.clear).requiring { .add(entry: $0) }

    /// What a doubled entry is refused with.
    struct Doubled: Error {
        let entry: Int
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Ledger) throws {
            switch action {
            case .add(let entry):
                if state.entries.contains(entry) { throw Doubled(entry: entry) }
                state.entries.append(entry)
            case .clear: state.entries = []
            }
        }
    }
}
