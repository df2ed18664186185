import BusJSON

/// The bus's counters for Prometheus and what else reads OpenMetrics: text from the reply to `stats`, no I/O.
public enum BusMetrics {
    /// What goes with the text, as HTTP names it.
    public static let contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    /// All metrics that a reply to `stats` has values for. Who does not manage the bus gets few.
    ///
    /// - Parameter stats: The member `stats` of the reply.
    public static func openMetrics(_ stats: JSONObject) -> String {
        var text = OpenMetricsText()
        for family in MetricFamily.all { text.append(family, family.samples(stats)) }
        text.end()
        return text.text
    }
}
