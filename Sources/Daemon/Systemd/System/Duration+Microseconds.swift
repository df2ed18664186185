import Glibc

/// systemd's unit of time, microseconds, and its clock: the monotonic one.
extension Duration {
    /// Whole microseconds, the rest cut off: the unit of all of systemd's times.
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }

    /// The time on the kernel's monotonic clock, in which systemd counts.
    static func monotonicNow() -> Duration {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}
