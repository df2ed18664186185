import BusJSON

/// How often values of each size came: whole numbers in buckets with fixed bounds, four for each doubling, so that every
/// value is known to within a quarter. Recording one takes a few instructions and no memory.
package final class Histogram {
    private static let bucketsPerDoubling = 4
    @exclusivity(unchecked) private var counts = ContiguousArray(repeating: 0, count: size)
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) package private(set) var sum = 0
    @exclusivity(unchecked) package private(set) var most = 0

    private static let size = 64 * bucketsPerDoubling

    package init() {}

    /// Records a value, `times` times; below 0 counts as 0.
    package func record(_ value: Int, times: Int = 1) {
        let value = max(0, value)
        counts[Self.bucket(of: value)] &+= times
        count &+= times
        sum &+= value &* times
        most = max(most, value)
    }

    /// Values below four have buckets of their own.
    static func bucket(of value: Int) -> Int {
        if value < bucketsPerDoubling { return value }
        let doubling = Int.bitWidth - 1 - value.leadingZeroBitCount
        return (doubling - 1) * bucketsPerDoubling + (value >> (doubling - 2)) & 3
    }

    /// The greatest value that a bucket takes.
    static func bound(of bucket: Int) -> Int {
        if bucket < bucketsPerDoubling { return bucket }
        let doubling = bucket / bucketsPerDoubling + 1
        return (bucketsPerDoubling + bucket % bucketsPerDoubling + 1) << (doubling - 2) &- 1
    }

    /// A value that so many of a hundred thousand are at or below: the bound of their bucket, at most the greatest value.
    package func percentile(_ wanted: Int) -> Int {
        let rank = max(1, (count * wanted + 99_999) / 100_000)
        var seen = 0
        for bucket in 0..<Self.size {
            seen += counts[bucket]
            if seen >= rank { return min(Self.bound(of: bucket), most) }
        }
        return most
    }

    /// As `stats` tells it; `unit` says how many make one.
    package func json(unit: Double) -> JSON {
        func value(_ number: Int) -> JSON { unit == 1 ? .int(number) : .double(Double(number) / unit) }
        var buckets: [JSON] = []
        for bucket in 0..<Self.size where counts[bucket] > 0 {
            buckets.append(.array([value(Self.bound(of: bucket)), .int(counts[bucket])]))
        }
        return .object([
            "count": .int(count), "sum": value(sum), "max": value(most), "p50": value(percentile(50_000)),
            "p90": value(percentile(90_000)), "p99": value(percentile(99_000)),
            "p999": value(percentile(99_900)), "buckets": .array(buckets),
        ])
    }
}
