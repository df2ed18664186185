#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The clock of deadlines: nobody sets it, and it never goes back.
package enum MonotonicClock {
    package static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    package static var milliseconds: Int { nanoseconds / 1_000_000 }

    /// The moment after a duration, in nanoseconds; `Int.max` for nil.
    package static func moment(after duration: Duration?) -> Int {
        guard let duration else { return .max }
        let (moment, overflow) = nanoseconds.addingReportingOverflow(max(duration.nanoseconds, 0))
        return overflow ? .max : moment
    }
}

/// The clock of the machine, which people and the network set.
package enum SystemClock {
    /// Since 1970.
    package static var milliseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}

/// A duration in whole units, rounded toward zero. Limited so that adding two of them to a clock's time cannot overflow.
extension Duration {
    package var nanoseconds: Int { count(perSecond: 1_000_000_000) }
    package var microseconds: Int { count(perSecond: 1_000_000) }
    package var milliseconds: Int { count(perSecond: 1000) }

    /// For what must not be early.
    package var roundedUpToMilliseconds: Int {
        (self + Duration(secondsComponent: 0, attosecondsComponent: 999_999_999_999_999)).milliseconds
    }

    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    private func count(perSecond units: Int64) -> Int {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: units)
        let most = Int64.max / 4
        if overflow { return Int(seconds < 0 ? -most : most) }
        return Int(min(max(whole, -most), most) + attoseconds / (1_000_000_000_000_000_000 / units))
    }
}
