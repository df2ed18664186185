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

    /// All metrics that a reply to `stats` has values for. Who does not manage the bus gets few.
    ///
    /// - Parameter stats: The member `stats` of the reply.
    public static func text(of stats: JSONObject, as form: Form = .openMetrics) -> String {
        var text = MetricText(form)
        for family in MetricFamily.all { text.append(family, family.samples(stats)) }
        return text.finished()
    }
}
