import Flux

/// A state with members of several kinds, whose actions can't be compared by an operator.
struct Shelf: State, Equatable, Codable {
    struct Label: Codable, Equatable, Sendable {
        var text: String
        var size = 1
    }

    var items: [String] = []
    var labels: [String: Label] = [:]
    var count = 0

    enum Action: Codable, Sendable {
        case add(String)
        case label(String, Label)
        case touch
        case open(Int)
        case close
        case refuse
    }

    struct Refusal: Error, Equatable {
        var reason = "the shelf is locked"
    }

    static let timers = TimerRule<Shelf> { action, _ in
        switch action {
        case .open(let seconds): [.set("close", after: .seconds(seconds), .close)]
        case .close: [.cancel("close")]
        default: []
        }
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Shelf) throws {
            switch action {
            case .add(let item):
                state.items.append(item)
                state.count += 1
            case .label(let item, let label): state.labels[item] = label
            case .touch: break
            case .open: state.count += 100
            case .close: state.count -= 100
            case .refuse: throw Refusal()
            }
        }
    }
}
