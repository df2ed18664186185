import BusJSON

/// What `top` shows: one sample, and how it differs from the one before.
package struct TopModel: Sendable {
    /// The times that something took between the samples.
    package struct Latency: Sendable {
        package let name: String
        package let reading: HistogramReading
    }

    /// How often actions were committed, of a type or of one kind.
    package struct Activity: Sendable {
        package let type: String
        /// Nil for all actions of the type.
        package let action: String?
        /// Per second; nil without an earlier sample.
        package let rate: Double?
        package let total: Double
    }

    package struct Client: Sendable {
        package let json: JSON
        package let dispatched: Double?
        package let delivered: Double?

        func number(_ name: String) -> Double { json[name]?.double ?? 0 }
    }

    package let sample: TopSample
    /// The seconds between the samples; nil without an earlier one.
    package let interval: Double?
    package let latencies: [Latency]
    package let types: [Activity]
    package let actions: [Activity]
    package let clients: [Client]
    private let earlier: TopSample?

    package init(_ sample: TopSample, since before: TopSample?) {
        let earlier = before.flatMap { sample.continues($0) ? $0 : nil }
        self.sample = sample
        self.earlier = earlier
        let interval = earlier.map { sample.time - $0.time }
        self.interval = interval
        latencies = ["turn", "commit", "logWrite", "fsync", "reply"].compactMap { name in
            guard let now = HistogramReading(sample.stats["histograms"]?[name]) else { return nil }
            let before = earlier.flatMap { HistogramReading($0.stats["histograms"]?[name]) }
            return Latency(name: name, reading: before.map(now.since) ?? now)
        }
        actions = (sample.stats["actions"]?.object ?? [:]).flatMap { type in
            (type.value.object ?? [:]).map { action in
                let total = action.value.double ?? 0
                let before = earlier?.stats["actions"]?[type.key]?[action.key]?.double ?? 0
                return Activity(
                    type: type.key, action: action.key, rate: interval.map { (total - before) / $0 },
                    total: total)
            }
        }
        types = Dictionary(grouping: actions, by: \.type).map { type, actions in
            Activity(
                type: type, action: nil,
                rate: interval.map { _ in actions.reduce(0) { $0 + ($1.rate ?? 0) } },
                total: actions.reduce(0) { $0 + $1.total })
        }
        let known = Dictionary(
            (earlier?.clients ?? []).map { ($0["id"]?.int ?? 0, $0) }, uniquingKeysWith: { first, _ in first }
        )
        clients = (sample.clients ?? []).map { client in
            func rate(_ name: String) -> Double? {
                let before = known[client["id"]?.int ?? 0]?[name]?.double ?? 0
                return interval.map { max(0, (client[name]?.double ?? 0) - before) / $0 }
            }
            return Client(json: client, dispatched: rate("dispatched"), delivered: rate("delivered"))
        }
    }

    /// What a counter grew by in a second; nil without an earlier sample, and where the bus does not tell it.
    package func rate(_ path: String...) -> Double? {
        func value(_ sample: TopSample) -> Double? {
            var value: JSON? = .object(sample.stats)
            for name in path { value = value?[name] }
            return value?.double
        }
        guard let earlier, let interval, let now = value(sample), let before = value(earlier) else {
            return nil
        }
        return (now - before) / interval
    }

    /// Commits a second: also for those who are told the revision only.
    package var commitRate: Double? { rate("revision") }

    /// Refused requests a second, of every code.
    package var errorRate: Double? {
        guard let interval, let earlier else { return nil }
        func sum(_ sample: TopSample) -> Double {
            (sample.stats["errors"]?.object ?? [:]).reduce(0) { $0 + ($1.value.double ?? 0) }
        }
        guard sample.stats["errors"] != nil else { return nil }
        return (sum(sample) - sum(earlier)) / interval
    }
}

/// The same for programs: `top --once --json`.
extension TopModel {
    package var json: JSON {
        var object: JSONObject = ["revision": sample.stats["revision"] ?? .null]
        for name in [
            "version", "uptime", "epoch", "stores", "connections", "subscriptions", "residentMemory", "log",
        ] {
            object[name] = sample.stats[name]
        }
        object["interval"] = interval.map { Self.number($0) }
        object["rates"] = .object(rates)
        object["latencies"] = .object(
            latencies.reduce(into: JSONObject()) { $0[$1.name] = Self.json($1.reading) })
        object["types"] = .array(types.sorted { $0.type < $1.type }.map(Self.json))
        object["actions"] = .array(actions.map(Self.json))
        object["clients"] = .array(
            clients.map { client in
                var object = client.json.object ?? [:]
                object["dispatchedPerSecond"] = client.dispatched.map(Self.number)
                object["deliveredPerSecond"] = client.delivered.map(Self.number)
                return .object(object)
            })
        return .object(object)
    }

    private var rates: JSONObject {
        let pairs: KeyValuePairs = [
            "commits": commitRate, "dispatches": rate("totals", "dispatches"),
            "requests": rate("totals", "requests"), "events": rate("totals", "events"),
            "bytesIn": rate("totals", "bytesIn"), "bytesOut": rate("totals", "bytesOut"),
            "errors": errorRate, "logBytes": rate("log", "bytes"),
        ]
        var object: JSONObject = [:]
        for (name, rate) in pairs { object[name] = rate.map(Self.number) }
        return object
    }

    private static func json(_ activity: Activity) -> JSON {
        var object: JSONObject = ["type": .string(activity.type), "total": number(activity.total)]
        object["action"] = activity.action.map(JSON.string)
        object["perSecond"] = activity.rate.map(number)
        return .object(object)
    }

    private static func json(_ reading: HistogramReading) -> JSON {
        var object: JSONObject = ["count": number(reading.count)]
        for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            object[name] = reading.quantile(part).map(number)
        }
        if reading.count > 0 { object["max"] = number(reading.max) }
        return .object(object)
    }

    /// With as many digits as mean something.
    private static func number(_ value: Double) -> JSON {
        if let whole = Int(exactly: value) { return .int(whole) }
        guard value.isFinite else { return .null }
        var scale = 1.0
        while abs(value) * scale < 1e5, scale < 1e12 { scale *= 10 }
        return .double((value * scale).rounded() / scale)
    }
}
