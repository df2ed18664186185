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
