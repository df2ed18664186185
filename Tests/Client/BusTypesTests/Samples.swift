import BusJSON
import BusTypes
import Flux

/// A state with an action of every form.
struct Heater: SharedState, Equatable {
    enum Mode: String, Codable, CaseIterable, ActionArgument { case auto, manual, off }
    enum Level: Int, Codable, CaseIterable, ActionArgument { case low = 1, high = 2 }
    struct Note: Codable, Equatable, ActionArgument {
        var text = ""
        static let samples = (Note(text: ""), Note(text: "a"))
    }

    enum Action: Codable, Sendable, Equatable {
        case setTarget(celsius: Double, room: String? = nil, by: Int = 1)
        case boost(minutes: Int = 10, gently: Bool = false)
        case setMode(mode: Mode)
        case setLevel(level: Level, reason: Note?)
        case plan(hours: [Int], rooms: [String: Double], note: Note)
        case remember(anything: JSON)
        case unusual(small: UInt8 = 7, mode: Mode? = nil, rooms: Set<String>? = nil, more: JSON? = nil)
        case reset
        case hidden
    }

    var target = 20.0
    var mode = Mode.auto
    var room: String?

    static let actions = ActionList<Heater>(.boost(), .unusual(), .reset)
        .requiring { .setTarget(celsius: $0) }
        .requiring { .setMode(mode: $0) }
        .requiring { .setLevel(level: $0, reason: nil) }
        .requiring { .plan(hours: $0, rooms: $1, note: $2) }
        .requiring { .remember(anything: $0) }
        .excluding(.hidden)

    static let published: PublishedValues<Heater> = [
        "isWarm": { $0.target > 18 }, "double": { $0.doubled }, "broken": { $0.target / 0 },
        "roomOrNull": { $0.room },
    ]

    struct Mutations: Flux.Mutations {
        func commit(_ action: Heater.Action, to state: inout Heater) {
            switch action {
            case .setTarget(let celsius, _, _): state.target = celsius
            case .setMode(let mode): state.mode = mode
            default: state = Heater()
            }
        }
    }
}

extension Computed<Heater> {
    var doubled: Double { state.target * 2 }
}

/// Actions that carry nothing, coded as their names alone.
struct Lamp: SharedState {
    enum Action: String, Codable, Sendable { case on, off }
    var isOn = false
    static let typeName = "lamp-v2"
    static let actions = ActionList<Lamp>(.on, .off)
    struct Mutations: Flux.Mutations {
        func commit(_ action: Lamp.Action, to state: inout Lamp) { state.isOn = action == .on }
    }
}

/// A state in which everything is wrong that can be.
struct Broken: SharedState {
    enum Action: Codable, Sendable, Equatable {
        case fine(by: Int = 1)
        case größer
        case odd(Odd = Odd())
    }
    /// Encodes what it can't decode.
    struct Odd: Codable, Equatable {
        init() {}
        init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(Int.self) }
        func encode(to encoder: any Encoder) throws {
            var single = encoder.singleValueContainer()
            try single.encode("text")
        }
    }
    var count = 0
    static let typeName = "Broken"
    static let actions = ActionList<Broken>(.fine(), .fine(by: 2), .größer, .odd())
        .requiring { (by: Int) in by == 0 ? .fine() : .größer }
        .requiring { (_: Int) in .fine() }
    static let published: PublishedValues<Broken> = ["count": { $0.count }, "a": { _ in 1 }, "a": { _ in 2 }]
    struct Mutations: Flux.Mutations {
        func commit(_ action: Broken.Action, to state: inout Broken) {}
    }
}

/// Actions that are no objects.
struct Numbered: SharedState {
    enum Action: Int, Codable, Sendable { case first = 1 }
    static let actions = ActionList<Numbered>(.first)
    struct Mutations: Flux.Mutations {
        func commit(_ action: Numbered.Action, to state: inout Numbered) {}
    }
    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(1)
    }
}
