import Glibc

/// The time of commits: milliseconds since 1970 that never go back, also when somebody sets the clock.
struct WallClock {
    private(set) var latest = 0

    /// The present, for whoever needs it once.
    static var now: Int { milliseconds(CLOCK_REALTIME) }

    mutating func read() -> Int {
        latest = max(latest, milliseconds(CLOCK_REALTIME))
        return latest
    }
}

/// The time of deadlines: it runs on whatever happens to the clock.
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
