import Glibc

/// Days and times of day in one time zone, over nothing but the zone's offset at a moment.
///
/// Where clocks are set forward some times of day do not occur, and where they are set back some occur twice. Both are
/// results here, not something silently corrected.
package struct LocalCalendar: Sendable {
    /// The moments with a time of day on a day, in seconds since 1970.
    package enum Moments: Equatable, Sendable {
        case one(Int)
        /// The clocks were set back: first and second occurrence.
        case two(Int, Int)
        /// The clocks were set forward at this moment, past it.
        case none(skippedAt: Int)
    }

    /// Seconds east of Greenwich at a moment, in seconds since 1970.
    private let offset: @Sendable (Int) -> Int

    private static let day = 86_400

    package init(offset: @escaping @Sendable (Int) -> Int) { self.offset = offset }

    /// The machine's time zone, or that of `$TZ`.
    package static let system = LocalCalendar { seconds in
        var (seconds, parts) = (time_t(seconds), tm())
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }

    // MARK: - Days, counted from the first of 1970

    /// The day that a moment, in seconds since 1970, is in.
    package func day(of moment: Int) -> Int { Self.floorDivide(moment + offset(moment), Self.day) }

    /// The number of a date; nil for one that no calendar has, and beyond the years 1970 to 9999.
    package static func day(year: Int, month: Int, day: Int) -> Int? {
        guard 1970...9999 ~= year, 1...12 ~= month, 1...length(ofMonth: month, year) ~= day else {
            return nil
        }
        // Years begin with March here, so that the leap day is the last one.
        let shifted = month > 2 ? year : year - 1
        let (era, inEra) = (shifted / 400, shifted % 400)
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + inEra * 365 + inEra / 4 - inEra / 100 + ofYear - 719_468
    }

    private static func length(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// 0 for Monday to 6 for Sunday.
    package static func weekday(of day: Int) -> Int { day + 3 - 7 * floorDivide(day + 3, 7) }

    // MARK: - Moments

    /// The moments at which clocks show a time of day, in seconds since midnight.
    package func moments(day: Int, second: Int) -> Moments {
        let local = day * Self.day + second
        // No zone is a whole day from Greenwich, so these are before and after it; two changes are further apart.
        let (before, after) = (offset(local - Self.day), offset(local + Self.day))
        let found = Set([before, after].map { local - $0 }.filter { $0 + offset($0) == local }).sorted()
        switch found.count {
        case 1: return .one(found[0])
        case 2: return .two(found[0], found[1])
        default: return .none(skippedAt: change(from: local - after, to: local - before))
        }
    }

    /// When a day begins: at midnight, or, where clocks are set forward at midnight, at the first moment after it.
    package func start(of day: Int) -> Int {
        switch moments(day: day, second: 0) {
        case .one(let moment), .two(let moment, _), .none(skippedAt: let moment): moment
        }
    }

    /// When the offset changes between two moments.
    private func change(from early: Int, to late: Int) -> Int {
        var (low, high) = (min(early, late), max(early, late))
        let first = offset(low)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if offset(middle) == first { low = middle } else { high = middle }
        }
        return high
    }

    private static func floorDivide(_ number: Int, _ divisor: Int) -> Int {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }
}
