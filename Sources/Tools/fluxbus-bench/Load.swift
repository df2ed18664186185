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
            "\(name)\(kind.map { ", \($0.rawValue)" } ?? ""): \(count(connections, "connection")), pipeline \(pipeline), "
            + "\(count(subscribers, "subscriber")), \(count(stores, "store"))"
            + (isLockStep ? ", one action at a time" : "")
            + (sync.map { ", log synced: \($0.rawValue)" } ?? "")
    }
}
