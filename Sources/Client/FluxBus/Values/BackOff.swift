/// The waits between attempts to connect: each twice as long as the previous one, up to a longest, and each cut at
/// random by up to half, so that many clients of one daemon do not reconnect in step.
public struct BackOff: Sendable {
    /// The wait before the first attempt.
    public var first: Duration
    /// The longest wait.
    public var longest: Duration

    public init(first: Duration = .milliseconds(50), longest: Duration = .seconds(10)) {
        self.first = first
        self.longest = longest
    }

    /// The wait before an attempt, counted from 1, in nanoseconds.
    func wait(before attempt: Int, random: inout SplitMix) -> Int {
        let doublings = min(max(attempt - 1, 0), 30)
        let (full, overflow) = first.nanoseconds.multipliedReportingOverflow(by: 1 << doublings)
        let bounded = overflow ? longest.nanoseconds : min(full, longest.nanoseconds)
        return bounded - Int(random.next() % UInt64(bounded / 2 + 1))
    }
}
