import Glibc

/// The time of commits: milliseconds since 1970 that never go back, also when the clock is set back.
struct WallClock {
    private(set) var latest = 0

    /// The present, for callers that need it once.
    static var now: Int { milliseconds(CLOCK_REALTIME) }

    /// The hour, minute and second of a time, here.
    static func timeOfDay(_ time: Int) -> String {
        var seconds = time / 1000
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// How far the newest commit of a log may lie in the future, in milliseconds, before a start believes
    /// the clock instead: an hour. Until the clock has come up with it, all commits have its time, and
    /// that long this is acceptable.
    private static let mostAhead = 3_600_000
    /// 2025, in milliseconds since 1970: a clock before it has not been set yet, and is the one that is wrong.
    private static let earliest = 1_735_689_600_000

    /// Whether the clock was ahead when this time was recorded, and has been corrected since.
    static func isAhead(_ time: Int, now: Int = WallClock.now) -> Bool {
        now >= earliest && time - now > mostAhead
    }

    mutating func read() -> Int {
        latest = max(latest, milliseconds(CLOCK_REALTIME))
        return latest
    }
}

/// The time of deadlines: setting the clock does not affect it.
enum MonotonicClock {
    static func read() -> Int { milliseconds(CLOCK_MONOTONIC) }

    static func nanoseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

private func milliseconds(_ clock: clockid_t) -> Int {
    var time = timespec()
    clock_gettime(clock, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}
