import BusJSON

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
