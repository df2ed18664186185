import BusJSON

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
