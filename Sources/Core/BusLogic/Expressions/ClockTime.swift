/// `meta.hour`, `meta.minute` and `meta.weekday`: when a commit is made, by the clock and the calendar of UTC.
package enum ClockTime: String, CaseIterable, Sendable {
    /// From 0 to 23, and from 0 to 59.
    case hour, minute
    /// From 0 for Sunday to 6, as CEL and cron count.
    case weekday

    static let names = allCases.map(\.rawValue)

    /// The value at a time in seconds since 1970, which began on a Thursday.
    package func value(at seconds: Double) -> Int {
        let seconds = Int(seconds.rounded(.down))
        return switch self {
        case .hour: Self.floored(seconds, by: 3600) % 24
        case .minute: Self.floored(seconds, by: 60) % 60
        case .weekday: (Self.floored(seconds, by: 86_400) + 4) % 7
        }
    }

    /// Made positive by whole weeks, so that times before 1970 count on in the same direction.
    private static func floored(_ seconds: Int, by unit: Int) -> Int {
        let week = 7 * 86_400
        return ((seconds % week) + week) % week / unit
    }
}
