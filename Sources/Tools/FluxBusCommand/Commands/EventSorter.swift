import BusJSON
import FluxBus

/// Puts the events of several subscriptions into the order of their commits, and actions before the changes that they
/// caused.
///
/// The bus sends all events of a commit before it answers a request that came later. So events are held until a ping,
/// sent once some are there, is answered: then every event of their commits has come. Only a subscription that lags behind
/// is told later; its events then come as late as they were sent.
struct EventSorter {
    private struct Held {
        let revision: Int
        /// 0 for actions, 1 for changes.
        let rank: Int
        let line: [UInt8]
    }

    private var held: [Held] = []
    /// The `id` of a ping under way.
    private var ping: Int?

    /// Takes a line; returns those that can be shown now.
    mutating func add(_ line: [UInt8]) throws(BusError) -> [[UInt8]] {
        switch try BusMessage(parsing: line) {
        case .reply(let reply):
            guard let ping, reply["id"] == .int(ping) else { return [] }
            self.ping = nil
            return takeAll()
        case .event("goodbye", _): return takeAll() + [line]
        case .event(let name, let event):
            let rank = ["action", "gap"].contains(name) ? 0 : 1
            held.append(Held(revision: event["revision"]?.int ?? .max, rank: rank, line: line))
            return []
        }
    }

    /// Asks for the end of what belongs to the held events, unless that has been asked.
    mutating func begin(on connection: BusConnection) {
        if ping == nil, !held.isEmpty { ping = connection.queue(BusRequest("ping")) }
    }

    /// Everything held, in order; a ping under way is forgotten, as it is by another connection.
    mutating func takeAll() -> [[UInt8]] {
        defer { (held, ping) = ([], nil) }
        // Those of one revision and kind stay as they came.
        let order = held.indices.sorted {
            (held[$0].revision, held[$0].rank, $0) < (held[$1].revision, held[$1].rank, $1)
        }
        return order.map { held[$0].line }
    }
}
