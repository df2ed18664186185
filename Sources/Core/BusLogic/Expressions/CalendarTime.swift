/// A time in UTC by the proleptic Gregorian calendar, worked out by arithmetic alone, without a clock, a time zone or a
/// locale.
struct CalendarTime {
    /// How exactly a time is written; what is finer is cut off.
    enum Precision: String, CaseIterable {
        case date, minutes, seconds, milliseconds
    }

    private let year: Int
    private let month: Int
    private let day: Int
    private let secondOfDay: Int
    private let millisecond: Int

    /// Days from the first of January of the year 0 to that of 1970.
    private static let daysToEpoch = days(before: 1970)
    /// The times in years of at most four digits, in seconds since 1970.
    private static let seconds =
        -daysToEpoch * secondsOfDay..<(days(before: 10_000) - daysToEpoch) * secondsOfDay
    private static let secondsOfDay = 86_400

    /// A time in seconds since 1970; nil outside of the years 0 to 9999.
    init?(seconds: Int) { self.init(seconds: seconds, millisecond: 0) }

    /// A time in seconds since 1970, taken to the nearest millisecond.
    init?(seconds: Double) {
        let range = Self.seconds
        guard seconds >= Double(range.lowerBound), seconds < Double(range.upperBound) else { return nil }
        let milliseconds = Int((seconds * 1000).rounded())
        let second = Self.floor(milliseconds, by: 1000)
        self.init(seconds: second, millisecond: milliseconds - second * 1000)
    }

    private init?(seconds: Int, millisecond: Int) {
        guard Self.seconds.contains(seconds) else { return nil }
        let day = Self.floor(seconds, by: Self.secondsOfDay)
        secondOfDay = seconds - day * Self.secondsOfDay
        self.millisecond = millisecond
        let sinceYear0 = day + Self.daysToEpoch
        // A year has at most 366 days, so that the guess is never too late.
        var year = sinceYear0 / 366
        while Self.days(before: year + 1) <= sinceYear0 { year += 1 }
        var rest = sinceYear0 - Self.days(before: year)
        var month = 1
        while rest >= Self.days(in: month, of: year) {
            rest -= Self.days(in: month, of: year)
            month += 1
        }
        self.year = year
        self.month = month
        self.day = rest + 1
    }

    func text(_ precision: Precision) -> String {
        let date = "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
        let minutes = "\(Self.digits(secondOfDay / 3600, 2)):\(Self.digits(secondOfDay / 60 % 60, 2))"
        let seconds = "\(minutes):\(Self.digits(secondOfDay % 60, 2))"
        return switch precision {
        case .date: date
        case .minutes: "\(date)T\(minutes)Z"
        case .seconds: "\(date)T\(seconds)Z"
        case .milliseconds: "\(date)T\(seconds).\(Self.digits(millisecond, 3))Z"
        }
    }

    /// The days of all years before one, from the year 0 on. Every fourth year has one more, but not every
    /// hundredth, but every four hundredth.
    private static func days(before year: Int) -> Int {
        365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: days(before: year + 1) - days(before: year) - 337
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floor(_ value: Int, by divisor: Int) -> Int {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
}
