// A custom daemon: `fluxbusd` with a Swift state linked into it. Run it, and talk to it as to any other bus:
//
//     example-daemon --listen unix:/tmp/bus.sock --store parking/north
//     fluxbus --address unix:/tmp/bus.sock dispatch parking/north enter plate=B-XY-42
//     fluxbus --address unix:/tmp/bus.sock watch parking/north
//
// Types declared in files are served beside it, with --types DIR. The two kinds can't be told apart on the wire.

import FluxBusDaemon

/// Which cars stand in a car park. Here Swift is worth the compiler: the rules need more than expressions.
struct Parking: SharedState {
    /// The cars by their plates, and how many places there are.
    var cars: [String: Car] = [:]
    var places: UInt16 = 100

    struct Car: Codable, Sendable { var paid = false }

    /// What clients may ask for. `enter {"plate":"B-XY-42"}` becomes `.enter(plate: "B-XY-42")`.
    enum Action: Codable, Sendable {
        case enter(plate: String)
        case pay(plate: String)
        case leave(plate: String)
        case resize(places: UInt16 = 100)
    }

    /// The actions that the wire offers. What a client must give comes from the closures; what it may leave out has
    /// the default of the enum.
    static let actions = ActionList<Parking>(.resize())
        .requiring { .enter(plate: $0) }
        .requiring { .pay(plate: $0) }
        .requiring { .leave(plate: $0) }

    /// What is derived from the state and published as a member of it, for clients in any language.
    static let published: PublishedValues<Parking> = ["free": { Int($0.places) - $0.cars.count }]

    /// Why an action is refused. The text is what the client reads.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    struct Mutations: Flux.Mutations {
        /// Changes the state, or throws: then nothing happens, in no store that the dispatch was for. This runs in
        /// the daemon, so nothing that a client sends may trap: mind indices, forced values and overflow.
        func commit(_ action: Parking.Action, to state: inout Parking) throws {
            switch action {
            case .enter(let plate):
                guard state.cars[plate] == nil else {
                    throw Refusal(description: "\(plate) is inside already")
                }
                guard state.cars.count < state.places else { throw Refusal(description: "no place is free") }
                state.cars[plate] = Car()
            case .pay(let plate):
                guard state.cars[plate] != nil else { throw Refusal(description: "\(plate) is not here") }
                state.cars[plate]?.paid = true
            case .leave(let plate):
                guard let car = state.cars[plate] else { throw Refusal(description: "\(plate) is not here") }
                guard car.paid else { throw Refusal(description: "\(plate) has not paid") }
                state.cars[plate] = nil
            case .resize(let places):
                state.places = places
            }
        }
    }
}

// The whole daemon: command line, configuration, sockets, signals.
FluxBusDaemon.main(serving: Parking.self)
