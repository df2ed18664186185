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
