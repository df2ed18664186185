import BusJSON

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

    /// Whether counters go on from an earlier sample: the daemon did not start anew between them.
    func continues(_ earlier: TopSample) -> Bool {
        guard stats["epoch"] == earlier.stats["epoch"], time > earlier.time else { return false }
        return (number("uptime") ?? 0) >= (earlier.number("uptime") ?? 0)
            && (number("totals", "requests") ?? 0) >= (earlier.number("totals", "requests") ?? 0)
    }
}
