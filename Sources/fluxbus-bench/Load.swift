import ArgumentParser

/// What one run asks of the bus.
struct Load: Equatable {
    let name: String
    var connections: Int
    /// How many requests each connection has on their way.
    var pipeline: Int
    var subscribers = 0
    var stores = 1
    /// The next action goes out only when the reply and every delivery of the one before are in.
    var isLockStep = false
    /// Actions go to the type; else to the one store.
    var isGlobal = false
    var sender = Sender.raw

    /// Who sends the requests.
    enum Sender {
        /// The load generator: prepared lines, counted replies.
        case raw
        /// The client library: one `Bus`, one task, `startDispatch`.
        case library
        /// The same, each dispatch with a key, as the library does by default.
        case libraryWithKeys
    }

    var title: String {
        func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        return "\(name): \(count(connections, "connection")), pipeline \(pipeline), "
            + "\(count(subscribers, "subscriber")), \(count(stores, "store"))"
    }
}

/// Named sets of runs.
enum Scenario: String, ExpressibleByArgument, CaseIterable {
    case dispatch, fanout, latency, stores, client, engine, growth, all

    var loads: [Load] {
        switch self {
        case .dispatch:
            [
                Load(name: "dispatch", connections: 1, pipeline: 64),
                Load(name: "dispatch", connections: 50, pipeline: 64),
                Load(name: "dispatch", connections: 50, pipeline: 1),
                Load(name: "dispatch", connections: 50, pipeline: 64, subscribers: 1),
            ]
        case .fanout:
            [
                Load(name: "fanout", connections: 1, pipeline: 64, subscribers: 100),
                Load(name: "fanout", connections: 1, pipeline: 64, subscribers: 1000),
            ]
        case .latency:
            [Load(name: "latency", connections: 1, pipeline: 1, subscribers: 1, isLockStep: true)]
        case .stores:
            [Load(name: "stores", connections: 1, pipeline: 16, subscribers: 1, stores: 1000, isGlobal: true)]
        case .client:
            [
                Load(name: "client, raw", connections: 1, pipeline: 256),
                Load(name: "client, library", connections: 1, pipeline: 256, sender: .library),
                Load(
                    name: "client, library with keys", connections: 1, pipeline: 256, sender: .libraryWithKeys
                ),
            ]
        // These need no bus.
        case .engine, .growth: []
        case .all: [Self.dispatch, .fanout, .latency, .stores, .client].flatMap(\.loads)
        }
    }
}
