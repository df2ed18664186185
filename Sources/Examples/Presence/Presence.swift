import FluxBus

/// The sample type `presence`, as Swift sees it: who is in a room. The daemon's rules are in
/// `config/types/presence.yaml`.
struct Presence: SharedState, Equatable {
    struct Person: Codable, Sendable, Equatable {
        var status: String
        /// Seconds since 1970, by the bus's clock; only the bus knows it.
        var since: Double?
    }

    private(set) var people: [String: Person] = [:]
    private(set) var last: String?

    enum Action: Codable, Sendable {
        case enter(name: String, status: String = "here")
        case say(name: String, status: String)
        case leave(name: String)
    }

    static let actions = ActionList<Presence>()
        .requiring { .enter(name: $0) }
        .requiring { .say(name: $0, status: $1) }
        .requiring { .leave(name: $0) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Presence) {
            switch action {
            case .enter(let name, let status):
                state.people[name] = Person(status: status)
                state.last = name
            case .say(let name, let status): state.people[name]?.status = status
            case .leave(let name): state.people[name] = nil
            }
        }
    }
}
