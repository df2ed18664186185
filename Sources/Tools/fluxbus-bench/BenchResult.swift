import BusJSON

/// One run's figures, for people and for programs.
struct BenchResult {
    let load: Load
    let tally: LoadRunner.Tally
    /// How many stores each action changed.
    let changed: Int
    var shortfall: String?
    /// CPU of the server while it ran; nil when its process is not known.
    var serverSeconds: Double?
    var ownSeconds = 0.0

    init(load: Load, tally: LoadRunner.Tally, changed: Int, shortfall: String?) {
        self.load = load
        self.tally = tally
        self.changed = changed
        self.shortfall = shortfall
    }

    private var seconds: Double { Double(tally.elapsed) / 1e9 }
    var dispatchRate: Double { Double(tally.replies) / seconds }
    private var deliveryRate: Double { Double(tally.deliveries) / seconds }

    /// Server microseconds for each of `count` things; nil when not known.
    private func cost(per count: Int) -> Double? {
        guard let serverSeconds, count > 0 else { return nil }
        return serverSeconds * 1e6 / Double(count)
    }

    /// Server microseconds for each request; nil when the server is not known.
    var costPerRequest: Double? { cost(per: tally.replies) }

    /// Server microseconds for each store changed by each dispatch; nil when the server is not known.
    var costPerStoreChanged: Double? { cost(per: tally.replies * max(1, changed)) }

    // MARK: - For people

    var text: String {
        var lines = [load.title]
        var rates = "  \(Figure.rate(dispatchRate)) dispatches/s"
        if load.subscribers > 0 { rates += "   \(Figure.rate(deliveryRate)) deliveries/s" }
        if changed > 1 { rates += "   \(Figure.rate(dispatchRate * Double(changed))) stores changed/s" }
        lines.append(rates)
        if let times = tally.replyTimes { lines.append("  reply     " + Self.percentiles(times)) }
        if let times = tally.deliveryTimes, times.count > 0 {
            lines.append("  delivery  " + Self.percentiles(times))
        }
        lines.append("  server    " + serverText)
        lines.append("  " + (shortfall.map { "WRONG: \($0)" } ?? accounted))
        return lines.joined(separator: "\n") + "\n"
    }

    private var accounted: String {
        let deliveries = load.subscribers > 0 ? " and \(tally.deliveries) deliveries" : ""
        return "all \(tally.replies) replies\(deliveries) counted, \(Figure.decimal(seconds, 2)) s"
    }

    private var serverText: String {
        guard let perDispatch = cost(per: tally.replies), let serverSeconds else {
            return "CPU not known (name its process with --pid)"
        }
        var text = "\(Figure.decimal(perDispatch, 3)) µs per dispatch"
        if let perDelivery = cost(per: tally.deliveries) {
            text += ", \(Figure.decimal(perDelivery, 3)) µs per delivery"
        }
        if changed > 1, let perStore = cost(per: tally.replies * changed) {
            text += ", \(Figure.decimal(perStore, 3)) µs per store changed"
        }
        return text + "; \(Figure.percent(serverSeconds / seconds)) of a core"
            + " (bench: \(Figure.percent(ownSeconds / seconds)))"
    }

    private static func percentiles(_ histogram: Histogram) -> String {
        [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)].map { name, share in
            "\(name) \(Figure.decimal(histogram.microseconds(atShare: share), 1)) µs"
        }.joined(separator: "   ")
    }

    // MARK: - For programs

    var json: JSON {
        var object: JSONObject = [
            "scenario": .string(load.name), "connections": .int(load.connections),
            "pipeline": .int(load.pipeline),
            "subscribers": .int(load.subscribers), "stores": .int(load.stores), "ok": .bool(shortfall == nil),
            "seconds": Self.number(seconds), "requests": .int(tally.requests), "replies": .int(tally.replies),
            "deliveries": .int(tally.deliveries), "storesChangedPerDispatch": .int(changed),
            "dispatchesPerSecond": Self.number(dispatchRate),
            "deliveriesPerSecond": Self.number(deliveryRate),
            "replyMicroseconds": Self.json(tally.replyTimes),
            "deliveryMicroseconds": Self.json(tally.deliveryTimes),
            "benchCPUSeconds": Self.number(ownSeconds),
        ]
        object["kind"] = load.kind.map { .string($0.rawValue) }
        object["sync"] = load.sync.map { .string($0.rawValue) }
        object["error"] = shortfall.map(JSON.string)
        object["serverCPUSeconds"] = serverSeconds.map(Self.number) ?? .null
        object["serverMicrosecondsPerDispatch"] = cost(per: tally.replies).map(Self.number) ?? .null
        object["serverMicrosecondsPerDelivery"] = cost(per: tally.deliveries).map(Self.number) ?? .null
        object["serverMicrosecondsPerStoreChanged"] =
            cost(per: tally.replies * changed).map(Self.number) ?? .null
        return .object(object)
    }

    private static func number(_ value: Double) -> JSON { .double(Figure.rounded(value)) }

    private static func json(_ histogram: Histogram?) -> JSON {
        guard let histogram, histogram.count > 0 else { return .null }
        return [
            "p50": number(histogram.microseconds(atShare: 0.5)),
            "p99": number(histogram.microseconds(atShare: 0.99)),
            "p999": number(histogram.microseconds(atShare: 0.999)),
            "max": number(Double(histogram.longest) / 1000),
        ]
    }
}
