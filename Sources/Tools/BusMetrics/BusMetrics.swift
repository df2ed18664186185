import BusJSON

/// The bus's counters for Prometheus and what else reads metrics: text from the reply to `stats`, no I/O.
public enum BusMetrics {
    /// The two forms of the text.
    public enum Form: Sendable {
        /// OpenMetrics 1.0.
        case openMetrics
        /// The text form of Prometheus that was there before, for readers that don't ask for OpenMetrics.
        case prometheus

        /// What goes with the text, as HTTP names it.
        public var contentType: String {
            switch self {
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            }
        }
    }

    /// The member `stats` of the bus's reply, with all that there are metrics of beside it: as `cluster` the members of a shared
    /// bus, as `effects` the states of `effect/*`. Who may not see these has the other metrics all the same.
    ///
    /// - Parameter ask: The reply to a request of this `op` with these members.
    public static func statistics<Failure: Error>(
        asking ask: (_ op: String, _ members: JSONObject) throws(Failure) -> JSONObject
    ) throws(Failure) -> JSONObject {
        guard var stats = try ask("stats", [:])["stats"]?.object else { return [:] }
        if stats["cluster"] != nil, let cluster = (try? ask("cluster", [:]))?["cluster"] {
            stats["cluster"] = cluster
        }
        // By a pattern, for which a bus without effects has no error.
        stats["effects"] = (try? ask("get", ["match": "effect/*", "select": effectMembers]))?["states"]
        return stats
    }

    private static let effectMembers: JSON = .array(
        ["owner", "paused", "running", "waiting", "done", "succeeded", "retried", "failures", "skipped"].map {
            .string("/" + $0)
        })

    /// All metrics that a reply to `stats` has values for. Who does not manage the bus gets few.
    ///
    /// - Parameter stats: As `statistics` gives it.
    public static func text(of stats: JSONObject, as form: Form = .openMetrics) -> String {
        var text = MetricText(form)
        for family in MetricFamily.all { text.append(family, family.samples(stats)) }
        return text.finished()
    }
}

/// One value of a metric.
struct MetricSample {
    /// What its name ends with, behind that of its family: `_bucket`, `_count`, `_sum`.
    var suffix = ""
    var labels: [(name: String, value: String)] = []
    var value: Double

    /// A histogram as `stats` has it, with the bounds of whole doublings, which are the same at every scrape.
    static func histogram(_ histogram: JSONObject, isTime: Bool) -> [MetricSample] {
        let buckets = (histogram["buckets"]?.array ?? []).compactMap { bucket -> (Double, Double)? in
            guard let pair = bucket.array, pair.count == 2, let bound = pair[0].double,
                let count = pair[1].double
            else { return nil }
            return (bound, count)
        }
        let doublings = isTime ? 10...36 : 1...18
        var samples: [MetricSample] = []
        for doubling in doublings {
            // The daemon counts whole nanoseconds: the greatest one below the doubling is the bound.
            let bound = Double(1 << doubling - 1) / (isTime ? 1e9 : 1)
            let count = buckets.reduce(0) { $1.0 <= bound * (1 + 1e-12) ? $0 + $1.1 : $0 }
            samples.append(
                MetricSample(
                    suffix: "_bucket", labels: [("le", MetricText.number(bound))], value: count))
        }
        let count = histogram["count"]?.double ?? 0
        samples.append(MetricSample(suffix: "_bucket", labels: [("le", "+Inf")], value: count))
        samples.append(MetricSample(suffix: "_count", value: count))
        samples.append(MetricSample(suffix: "_sum", value: histogram["sum"]?.double ?? 0))
        return samples
    }
}

/// Metrics as text.
struct MetricText {
    private let form: BusMetrics.Form
    private var text = ""

    init(_ form: BusMetrics.Form) { self.form = form }

    /// Writes a family with its samples; nothing if there are none.
    mutating func append(_ family: MetricFamily, _ samples: [MetricSample]) {
        if samples.isEmpty { return }
        describe(family)
        for sample in samples {
            text += family.name + Self.suffix(of: family.kind) + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
                text += "{\(labels.joined(separator: ","))}"
            }
            text += " \(Self.number(sample.value))\n"
        }
    }

    /// What OpenMetrics says of a family, the older form says of the name that its samples have.
    private mutating func describe(_ family: MetricFamily) {
        switch form {
        case .openMetrics:
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            if let unit = family.unit { text += "# UNIT \(family.name) \(unit)\n" }
            text += "# HELP \(family.name) \(Self.escaped(family.help))\n"
        case .prometheus:
            let name = family.name + Self.suffix(of: family.kind)
            let kind = family.kind == .info ? .gauge : family.kind
            text += "# HELP \(name) \(family.help)\n# TYPE \(name) \(kind.rawValue)\n"
        }
    }

    /// The text with its end.
    func finished() -> String { form == .openMetrics ? text + "# EOF\n" : text }

    private static func suffix(of kind: MetricFamily.Kind) -> String {
        switch kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }

    /// A number, whole ones without a point.
    static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    /// Text in quotes: whatever a client has chosen as a name stays one value on one line.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            // Readers that split lines in more places must not find one here.
            case "\r", "\u{0B}", "\u{0C}", "\u{1C}"..."\u{1E}", "\u{85}", "\u{2028}", "\u{2029}":
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
