#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The monotonic clock, in nanoseconds.
enum MonotonicClock {
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// The moment after a duration; the end of time for nil.
    static func moment(after duration: Duration?) -> Int {
        guard let duration else { return .max }
        let (moment, overflow) = now.addingReportingOverflow(max(duration.nanoseconds, 0))
        return overflow ? .max : moment
    }
}
