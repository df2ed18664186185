import BusJSON
import FluxBus

/// Asks for one sample after the other: what to send, and what the replies make. Replies come in the order of the
/// requests.
package struct TopSampler {
    private enum Awaited { case nothing, stats, clients }

    /// What a reply leads to.
    package enum Outcome {
        case ask(BusRequest)
        case sample(TopSample)
        case wait
    }

    private var awaited = Awaited.nothing
    private var stats: (members: JSONObject, time: Double)?
    private var clients: [JSON] = []
    private var pages = 0

    /// More clients than these pages hold no screen shows, and nobody waits for.
    private static let mostPages = 20

    package init() {}

    package var isAsking: Bool { awaited != .nothing }

    /// The requests that a sample begins with.
    package mutating func begin() -> [BusRequest] {
        (awaited, stats, clients, pages) = (.stats, nil, [], 0)
        return [BusRequest("stats"), BusRequest("clients")]
    }

    /// Takes the next reply. Throws the bus's refusal of `stats`.
    package mutating func take(_ reply: JSONObject, at time: Double) throws(BusError) -> Outcome {
        let isFine = reply["ok"]?.bool == true
        switch awaited {
        case .nothing: return .wait
        case .stats:
            guard isFine else { throw BusError(reply: reply["error"]) }
            stats = (reply["stats"]?.object ?? [:], time)
            awaited = .clients
            return .wait
        case .clients:
            clients += reply["clients"]?.array ?? []
            pages += 1
            if isFine, pages < Self.mostPages, let next = reply["next"], next != .null {
                return .ask(BusRequest("clients", ["after": next]))
            }
            awaited = .nothing
            return .sample(
                TopSample(
                    time: stats?.time ?? time, stats: stats?.members ?? [:], clients: isFine ? clients : nil))
        }
    }
}

/// What the bus said about itself at one moment.
package struct TopSample: Sendable {
    /// When the reply to `stats` came, in seconds of a clock that only goes forward.
    package let time: Double
    package let stats: JSONObject
    /// Nil where the bus lists none.
    package let clients: [JSON]?

    package init(time: Double, stats: JSONObject, clients: [JSON]?) {
        self.time = time
        self.stats = stats
        self.clients = clients
    }

    /// A counter, found by its path.
    func number(_ path: String...) -> Double? {
        var value: JSON? = .object(stats)
        for name in path { value = value?[name] }
        return value?.double
    }

    /// Whether counters go on from an earlier sample: the daemon did not restart between them.
    func continues(_ earlier: TopSample) -> Bool {
        guard stats["epoch"] == earlier.stats["epoch"], time > earlier.time else { return false }
        return (number("uptime") ?? 0) >= (earlier.number("uptime") ?? 0)
            && (number("totals", "requests") ?? 0) >= (earlier.number("totals", "requests") ?? 0)
    }
}
