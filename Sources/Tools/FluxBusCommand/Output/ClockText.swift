#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Times of day as `watch` and `log` show them, in the machine's time zone.
package enum ClockText {
    /// `14:05:12.072`
    package static func time(milliseconds: Int) -> String {
        second(milliseconds: milliseconds) + "." + padded(milliseconds % 1000, to: 3)
    }

    /// `14:05:12`
    package static func second(milliseconds: Int) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return two(parts.tm_hour) + ":" + two(parts.tm_min) + ":" + two(parts.tm_sec)
    }

    /// `2026-11-21 14:05:12.072`
    package static func dateAndTime(milliseconds: Int) -> String {
        date(milliseconds: milliseconds) + " " + time(milliseconds: milliseconds)
    }

    /// `2026-11-21`
    package static func date(milliseconds: Int) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return padded(Int(parts.tm_year) + 1900, to: 4) + "-" + two(parts.tm_mon + 1) + "-"
            + two(parts.tm_mday)
    }

    private static func two(_ number: Int32) -> String { padded(Int(number), to: 2) }

    private static func padded(_ number: Int, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
