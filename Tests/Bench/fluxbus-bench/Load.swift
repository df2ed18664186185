import ArgumentParser
import BusWork

/// The load of one run.
struct Load: Equatable {
    let name: String
    var connections: Int
    /// How many requests each connection has in flight.
    var pipeline: Int
    var subscribers = 0
    var stores = 1
    /// The next action is sent only when the reply and every delivery of the previous one have come.
    var isLockStep = false
    /// Actions go to the type; else to the one store.
    var isGlobal = false
    var sender = Sender.raw
    /// The kind of its requests, to stores of two types; nil: the one request that the options describe.
    var kind: RequestKind?
    /// Requests are transfers, and its stores accounts; nil: something else.
    var transfers: Transfers?
    /// When the bus syncs its log. Such a run has a bus of its own, with a log; nil: any bus, as it is.
    var sync: OwnDaemon.Sync?

    /// The sender of the requests.
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
        return
            "\(name)\(kind.map { ", \($0.rawValue)" } ?? "")\(transfers.map { ", Zipf \($0.exponent)" } ?? ""): \(count(connections, "connection")), pipeline \(pipeline), "
            + "\(count(subscribers, "subscriber")), \(count(stores, "store"))"
            + (isLockStep ? ", one action at a time" : "")
            + (sync.map { ", log synced: \($0.rawValue)" } ?? "")
    }
}

/// Named sets of runs.
enum Scenario: String, ExpressibleByArgument, CaseIterable {
    case dispatch, kinds, fanout, latency, stores, durable, transfer, client, flux, memory, start, engine,
        values, instructions, growth, hostile, all

    /// The scenarios that this one consists of. Attacks take a quarter of an hour, so they are run only by name.
    var parts: [Scenario] {
        self == .all ? Self.allCases.filter { $0 != .all && $0 != .hostile } : [self]
    }

    /// Load on a bus; none for those that are no load.
    var loads: [Load] {
        switch self {
        case .dispatch:
            [
                Load(name: "dispatch", connections: 1, pipeline: 64),
                Load(name: "dispatch", connections: 50, pipeline: 64),
                Load(name: "dispatch", connections: 50, pipeline: 1),
                Load(name: "dispatch", connections: 50, pipeline: 64, subscribers: 1),
            ]
        case .kinds:
            [(50, 0), (1, 0), (50, 1)].flatMap { connections, subscribers in
                RequestKind.allCases.map {
                    Load(
                        name: "kinds", connections: connections, pipeline: 64, subscribers: subscribers,
                        stores: 1000,
                        kind: $0)
                }
            }
        case .fanout:
            [
                Load(name: "fanout", connections: 1, pipeline: 64, subscribers: 100),
                Load(name: "fanout", connections: 1, pipeline: 64, subscribers: 1000),
                Load(name: "fanout", connections: 1, pipeline: 1, subscribers: 100, isLockStep: true),
                Load(name: "fanout", connections: 1, pipeline: 1, subscribers: 1000, isLockStep: true),
            ]
        case .latency:
            [
                Load(name: "latency", connections: 1, pipeline: 1, subscribers: 1, isLockStep: true),
                Load(name: "latency", connections: 50, pipeline: 1, subscribers: 1),
            ]
        case .stores:
            [1000, 100_000].map {
                Load(name: "stores", connections: 1, pipeline: 16, subscribers: 1, stores: $0, isGlobal: true)
            }
        case .durable:
            [OwnDaemon.Sync.always, .interval].flatMap { sync in
                [
                    Load(name: "durable", connections: 1, pipeline: 1, sync: sync),
                    Load(name: "durable", connections: 50, pipeline: 1, sync: sync),
                    Load(name: "durable", connections: 50, pipeline: 64, sync: sync),
                ]
            }
        case .transfer:
            [nil, OwnDaemon.Sync.always].flatMap { sync in
                [0, 1.5].map { exponent in
                    let transfers = Transfers(exponent: exponent, accounts: 100_000)
                    return Load(
                        name: "transfer", connections: 64, pipeline: 40, stores: transfers.accounts,
                        transfers: transfers, sync: sync)
                }
            }
        case .client:
            [
                Load(name: "client, raw", connections: 1, pipeline: 256),
                Load(name: "client, library", connections: 1, pipeline: 256, sender: .library),
                Load(
                    name: "client, library with keys", connections: 1, pipeline: 256, sender: .libraryWithKeys
                ),
            ]
        case .flux, .memory, .start, .engine, .values, .instructions, .growth, .hostile, .all: []
        }
    }

    /// Whether all of it needs daemons that this program starts.
    var needsOwnDaemon: Bool { [.kinds, .durable, .transfer, .memory, .start, .hostile].contains(self) }
}
