import Flux

/// A state with sub-states of every kind: nested, in a collection, in a dictionary, computed, and a state of its own.
struct Household: State, Equatable {
    struct Settings: Sendable, Equatable {
        var theme = "light"
        var volume = 5
    }

    struct Room: Sendable, Equatable, Identifiable {
        var id: String
        var celsius = 20
    }

    var settings = Settings()
    var rooms = [Room(id: "kitchen"), Room(id: "bath")]
    var guests: [String: Int] = [:]
    var counter = Counter()
    var residents = 2
    var doubled: Int {
        get { residents * 2 }
        set { residents = newValue / 2 }
    }

    enum Action: Sendable {
        case setTheme(String)
        case setVolume(Int)
        case heat(room: String, celsius: Int)
        case heatAt(index: Int)
        case arrive(String, Int?)
        case count(Counter.Action)
        case moveIn
        case unheardOf
    }

    struct Mutations: ComposedMutations {
        let mutators: [Mutator<Household>]

        init() {
            self.init([
                Mutator(\.settings.theme) { action, theme in
                    guard case .setTheme(let name) = action else { return .ignored }
                    theme = name
                    return .handled
                },
                Mutator(Lens(\.settings).appending(\.volume)) { action, volume in
                    guard case .setVolume(let new) = action else { return .ignored }
                    volume = new
                    return .handled
                },
                Mutator(each: Lens(\.rooms).appending(Lens(\.self)), id: \.room) { action, room in
                    guard case .heat(_, let celsius) = action else { return .ignored }
                    room.celsius = celsius
                    return .handled
                },
                Mutator(each: Lens(\.guests), key: \.guest) { action, days in
                    guard case .arrive(_, let stay) = action else { return .ignored }
                    days = stay
                    return .handled
                },
                Mutator(\.counter, mutations: Counter.Mutations()) {
                    if case .count(let action) = $0 { action } else { nil }
                },
                Mutator(\.residents) { action, residents in
                    guard case .moveIn = action else { return .ignored }
                    residents += 1
                    return .handled
                },
            ])
        }

        init(_ mutators: [Mutator<Household>]) { self.mutators = mutators }
    }
}

extension Household.Action {
    var room: String? {
        if case .heat(let room, _) = self { room } else { nil }
    }

    var guest: String? {
        if case .arrive(let guest, _) = self { guest } else { nil }
    }
}
