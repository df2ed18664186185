import BusJSON

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

/// When the latest requests were sent, by their number; older ones are overwritten.
final class TimeRing {
    private let times: UnsafeMutablePointer<UInt64>
    private let mask: Int

    /// A ring that distinguishes at least `count` numbers.
    init(holding count: Int) {
        var size = 1
        while size < count { size *= 2 }
        mask = size - 1
        times = .allocate(capacity: size)
        times.initialize(repeating: 0, count: size)
    }

    deinit { times.deallocate() }

    @inline(__always)
    func set(_ numbers: Range<Int>, to time: UInt64) {
        for number in numbers { times[number & mask] = time }
    }

    /// Adds to a histogram how long ago these were sent. Neighbours were mostly sent together, so they are added
    /// together.
    @inline(__always)
    func record(_ numbers: Range<Int>, at now: UInt64, in histogram: Histogram) {
        var number = numbers.lowerBound
        while number < numbers.upperBound {
            let sent = times[number & mask]
            var next = number + 1
            while next < numbers.upperBound, times[next & mask] == sent { next += 1 }
            histogram.add(now &- sent, times: UInt64(truncatingIfNeeded: next - number))
            number = next
        }
    }
}

/// One figure that is no rate: bytes of memory, milliseconds of a start.
struct Measurement {
    let scenario: String
    let name: String
    let value: Double
    let unit: String

    var text: String { "  \(amount): \(name)" }
    /// The value with its unit.
    var amount: String {
        let number = value.magnitude < 100 ? Figure.decimal(value, 1) : Figure.rate(value)
        return "\(number) \(unit)"
    }

    var json: JSON {
        [
            "scenario": .string(scenario), "name": .string(name), "value": .double(Figure.rounded(value)),
            "unit": .string(unit),
        ]
    }
}
