import BusSystem
import Glibc

/// The time of commits: milliseconds since 1970 that never go back, also when the clock is set back.
///
/// Once commits were ahead of the clock, their time goes on at half the clock's speed until the clock has come up with it.
/// If it stood still, so would all timers and leases; so they take twice as long at most, and in twice the time that the
/// clock was ahead all is well.
package struct WallClock {
    package private(set) var latest = 0
    /// While the clock is behind: when it was read last, in monotonic milliseconds, and what of the time since then is no
    /// whole millisecond of commits.
    private var readAt: Int?
    private var rest = 0
    private static let slowness = 2

    package init() {}

    /// The present, for callers that need it once.
    static var now: Int { SystemClock.milliseconds }

    /// The hour, minute and second of a time, here.
    static func timeOfDay(_ time: Int) -> String {
        var seconds = time / 1000
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// How far the newest commit of a log may lie in the future, in milliseconds, before a start believes
    /// the clock instead: an hour. Until the clock has come up with it, time goes at half the speed, and
    /// that long this is acceptable.
    private static let mostAhead = 3_600_000
    /// 2025, in milliseconds since 1970: a clock before it has not been set yet, and is the one that is wrong.
    private static let earliest = 1_735_689_600_000

    /// Whether the clock was ahead when this time was recorded, and has been corrected since.
    static func isAhead(_ time: Int, now: Int = WallClock.now) -> Bool {
        now >= earliest && time - now > mostAhead
    }

    /// The time of commits was this already, before this daemon.
    package mutating func begin(at time: Int) { latest = max(latest, time) }

    mutating func read() -> Int { read(clock: Self.now, monotonic: { MonotonicClock.milliseconds }) }

    package mutating func read(clock: Int, monotonic: () -> Int) -> Int {
        if clock < latest || readAt != nil { goOn(to: monotonic()) }
        if clock >= latest { (latest, readAt, rest) = (clock, nil, 0) }
        return latest
    }

    private mutating func goOn(to now: Int) {
        let passed = rest + max(0, now - (readAt ?? now))
        (readAt, rest) = (now, passed % Self.slowness)
        latest += passed / Self.slowness
    }

    /// While the clock is behind: when commits will have this time, in monotonic milliseconds, or before. Nil otherwise.
    package func moment(of time: Int) -> Int? {
        readAt.map { $0 + max(0, time - latest) * Self.slowness - rest }
    }
}
