/// A histogram of durations with 128 buckets an octave: constant size, no allocation, under 0.8 % error.
package final class Histogram {
    private static let subBits = 7
    private static let subCount = 1 << subBits

    private let buckets: UnsafeMutableBufferPointer<UInt64>
    package private(set) var count: UInt64 = 0
    package private(set) var longest: UInt64 = 0

    package init() {
        buckets = .allocate(capacity: (64 - Self.subBits + 1) << Self.subBits)
        buckets.initialize(repeating: 0)
    }

    deinit { buckets.deallocate() }

    /// Adds one duration that `times` requests had, in nanoseconds.
    @inline(__always)
    package func add(_ nanoseconds: UInt64, times: UInt64) {
        buckets[Self.index(nanoseconds)] &+= times
        count &+= times
        if nanoseconds > longest { longest = nanoseconds }
    }

    /// The duration, in microseconds, that the given share of all is not above; 0 without any.
    package func microseconds(atShare share: Double) -> Double {
        guard count > 0 else { return 0 }
        let wanted = max(1, UInt64(share * Double(count) + 0.5))
        var seen: UInt64 = 0
        for (index, bucket) in buckets.enumerated() {
            seen += bucket
            if seen >= wanted { return Double(min(Self.middle(of: index), longest)) / 1000 }
        }
        return Double(longest) / 1000
    }

    @inline(__always)
    private static func index(_ value: UInt64) -> Int {
        if value < UInt64(subCount) { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        let fraction = Int(truncatingIfNeeded: value >> UInt64(exponent - subBits)) & (subCount - 1)
        return ((exponent - subBits + 1) << subBits) + fraction
    }

    private static func middle(of index: Int) -> UInt64 {
        if index < subCount { return UInt64(index) }
        let exponent = (index >> subBits) + subBits - 1
        let fraction = UInt64(index & (subCount - 1))
        let step = UInt64(1) << UInt64(exponent - subBits)
        return (UInt64(1) << UInt64(exponent)) + fraction * step + step / 2
    }
}
