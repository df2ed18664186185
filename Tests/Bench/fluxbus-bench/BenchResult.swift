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
        object["zipf"] = load.transfers.map { Self.number($0.exponent) }
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

/// All results of a call, one line each.
struct ResultTable {
    private var rows: [[String]] = []

    private static let head = ["what", "result", "dispatches/s", "p50 µs", "p99 µs"]

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ result: BenchResult) {
        guard result.shortfall == nil else {
            return rows.append([result.load.title, "WRONG, see above", "", "", ""])
        }
        let times = result.tally.replyTimes
        let cost = result.costPerStoreChanged.map {
            Figure.decimal($0, 3) + (result.changed > 1 ? " µs CPU a store" : " µs CPU a dispatch")
        }
        rows.append([
            result.load.title, cost ?? "CPU not known", Figure.rate(result.dispatchRate),
            times.map { Figure.decimal($0.microseconds(atShare: 0.5), 1) } ?? "",
            times.map { Figure.decimal($0.microseconds(atShare: 0.99), 1) } ?? "",
        ])
    }

    mutating func add(_ measurement: Measurement) {
        add(measurement.scenario, measurement.name, measurement.amount)
    }

    mutating func add(_ scenario: String, _ name: String, _ result: String) {
        rows.append(["\(scenario): \(name)", result, "", "", ""])
    }

    var text: String {
        let all = [Self.head] + rows
        let widths = Self.head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                // Names from the left, figures from the right, so that they can be compared.
                return column == 0 ? row[column] + space : space + row[column]
            }
            return cells.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}

/// Numbers as people read them.
package enum Figure {
    /// With this many decimal places.
    package static func decimal(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 9e15 else { return "\(value)" }
        let digits = String(Int(scaled.magnitude))
        guard places > 0 else { return (scaled < 0 ? "-" : "") + digits }
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }

    /// Without the digits that a measurement does not have.
    package static func rounded(_ value: Double) -> Double { (value * 10_000).rounded() / 10_000 }

    /// Whole, its thousands apart.
    package static func rate(_ value: Double) -> String {
        let digits = decimal(value, 0)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result += " " }
            result.append(digit)
        }
        return result
    }

    package static func percent(_ share: Double) -> String { decimal(share * 100, 0) + " %" }
}
