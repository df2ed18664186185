import BusJSON

/// A histogram of `stats`, or the difference between two of them.
package struct HistogramReading: Equatable, Sendable {
    package let count: Double
    package let max: Double
    /// How many values lie at or below a bound and above the one before; ascending.
    private let buckets: [Bucket]

    private struct Bucket: Equatable, Sendable {
        let bound: Double
        let count: Double
    }

    /// Nil for what is no histogram.
    package init?(_ json: JSON?) {
        guard let json, let count = json["count"]?.double, let max = json["max"]?.double else { return nil }
        self.count = count
        self.max = max
        buckets = (json["buckets"]?.array ?? []).compactMap { pair in
            guard let pair = pair.array, pair.count == 2, let bound = pair[0].double,
                let count = pair[1].double
            else { return nil }
            return Bucket(bound: bound, count: count)
        }
    }

    private init(_ buckets: [Bucket], atMost max: Double) {
        self.buckets = buckets
        count = buckets.reduce(0) { $0 + $1.count }
        self.max = min(max, buckets.last?.bound ?? 0)
    }

    /// What came since an earlier reading of the same histogram.
    package func since(_ earlier: HistogramReading) -> HistogramReading {
        let before = Dictionary(
            earlier.buckets.map { ($0.bound, $0.count) }, uniquingKeysWith: { first, _ in first })
        let news = buckets.compactMap { bucket in
            let count = bucket.count - (before[bucket.bound] ?? 0)
            return count > 0 ? Bucket(bound: bucket.bound, count: count) : nil
        }
        return HistogramReading(news, atMost: max)
    }

    /// The value that this part of all values does not exceed, as near as the buckets tell; nil where there are none.
    package func quantile(_ part: Double) -> Double? {
        let total = buckets.reduce(0) { $0 + $1.count }
        guard total > 0 else { return nil }
        var seen = 0.0
        for bucket in buckets {
            seen += bucket.count
            if seen >= part * total { return min(bucket.bound, max) }
        }
        return max
    }
}
