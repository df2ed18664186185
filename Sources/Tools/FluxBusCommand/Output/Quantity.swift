import BusJSON
import Glibc

/// Sizes, times and rates in short, with units, for people.
package enum Quantity {
    /// `0.25 s`, `12 ms`, `3.4 µs`, `5m`, `2h`, `3d`; from seconds.
    package static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0 else { return "?" }
        switch seconds {
        case 0: return "0 s"
        case ..<0.9995e-6: return "\(short(seconds * 1e9)) ns"
        case ..<0.9995e-3: return "\(short(seconds * 1e6)) µs"
        case ..<0.9995: return "\(short(seconds * 1e3)) ms"
        case ..<60: return "\(short(seconds)) s"
        case ..<3600: return pair(seconds, 60, "m", 1, "s")
        case ..<86_400: return pair(seconds, 3600, "h", 60, "m")
        default: return pair(min(seconds, 1e15), 86_400, "d", 3600, "h")
        }
    }

    /// `512 B`, `3.2 KiB`, `41 MiB`.
    package static func bytes(_ count: Double) -> String {
        guard count.isFinite else { return "?" }
        var (value, unit) = (abs(count), 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        // What would be rounded to 1024 is one of the next unit.
        while value >= 1023.5, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        return (count < 0 ? "-" : "") + (unit == 0 ? whole(value) : short(value)) + " " + units[unit]
    }

    /// `0`, `0.3`, `12`, `4.2k`, `1.3M`: a count or a rate.
    package static func count(_ number: Double) -> String {
        guard number.isFinite else { return "?" }
        let value = abs(number)
        let text =
            switch value {
            case ..<999.5: value == value.rounded() ? whole(value) : short(value)
            case ..<999_500: short(value / 1e3) + "k"
            case ..<999_500_000: short(value / 1e6) + "M"
            default: short(min(value / 1e9, 1e6)) + "G"
            }
        return (number < 0 ? "-" : "") + text
    }

    /// `41%`
    package static func percent(_ part: Double) -> String {
        part.isFinite ? "\(whole((part * 100).rounded()))%" : "?"
    }

    /// Three digits that count.
    private static func short(_ value: Double) -> String {
        switch value {
        case ..<9.995: decimals(value, 100)
        case ..<99.95: decimals(value, 10)
        default: whole(value.rounded())
        }
    }

    private static func decimals(_ value: Double, _ power: Int) -> String {
        let number = Int((value * Double(power)).rounded())
        let (left, right) = (number / power, number % power)
        guard right > 0 else { return "\(left)" }
        let digits = power == 100 ? (right < 10 ? "0\(right)" : "\(right)") : "\(right)"
        return "\(left)." + (digits.hasSuffix("0") ? String(digits.dropLast()) : digits)
    }

    private static func whole(_ value: Double) -> String { value < 1e15 ? "\(Int(value))" : "\(value)" }

    private static func pair(
        _ seconds: Double, _ large: Int, _ largeName: String, _ small: Int, _ smallName: String
    ) -> String {
        let total = Int(seconds)
        let rest = total % large / small
        return "\(total / large)\(largeName)" + (rest > 0 ? " \(rest)\(smallName)" : "")
    }
}

/// Times of day as `watch` and `log` show them, in the machine's time zone.
package enum ClockText {
    /// Up to the end of the year 9999: what is beyond is no time.
    private static let latest = 253_402_300_800.0

    /// A time or a length of the bus, which is in seconds; nil for none.
    static func milliseconds(_ seconds: JSON?) -> Int? {
        guard let seconds = seconds?.double, (0..<latest).contains(seconds) else { return nil }
        return Int((seconds * 1000).rounded())
    }

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
