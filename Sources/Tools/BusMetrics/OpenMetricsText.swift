/// Metrics in the text form of OpenMetrics 1.0.
struct OpenMetricsText {
    private(set) var text = ""

    /// Writes a family with its samples; nothing if there are none.
    mutating func append(_ family: MetricFamily, _ samples: [MetricSample]) {
        if samples.isEmpty { return }
        text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
        if let unit = family.unit { text += "# UNIT \(family.name) \(unit)\n" }
        text += "# HELP \(family.name) \(Self.escaped(family.help))\n"
        for sample in samples {
            text += family.name + Self.suffix(of: family.kind) + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
                text += "{\(labels.joined(separator: ","))}"
            }
            text += " \(Self.number(sample.value))\n"
        }
    }

    mutating func end() { text += "# EOF\n" }

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
