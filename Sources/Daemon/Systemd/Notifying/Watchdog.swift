import CSystemd

/// How often the manager wants a watchdog notification, if it does.
///
/// Why it is no timer: a watchdog that is fed by a timer of its own only shows that the timer works. Feed it from the
/// work that must not stall; this says only how often.
///
/// ```swift
/// if let watchdog = try Watchdog() {
///     scheduleOnTheCommitQueue(every: watchdog.beat) { notifications.tell(.watchdog) }
/// }
/// ```
public struct Watchdog: Sendable, Hashable {
    /// After this time without a beat the manager ends the service (`WatchdogSec=`).
    public let interval: Duration

    /// How often to feed it: half of the interval, as systemd advises, so that one beat may be late.
    public var beat: Duration { interval / 2 }

    /// Reads it from libsystemd (`sd_watchdog_enabled`), which removes the variables, so that children do
    /// not mistake them for theirs: call it once, before there are threads. Nil without a watchdog, or
    /// when it is another process's.
    ///
    /// - Throws: `environment` if `WATCHDOG_USEC` or `WATCHDOG_PID` holds no number, or an interval of nothing.
    public init?() throws(SystemdError) {
        var microseconds: UInt64 = 0
        let answer = sd_watchdog_enabled(1, &microseconds)
        guard answer >= 0 else {
            throw SystemdError(
                .environment,
                "WATCHDOG_USEC or WATCHDOG_PID is not a valid number; correct WatchdogSec=.",
                systemCode: -answer)
        }
        guard answer > 0 else { return nil }
        interval = .microseconds(Int64(clamping: microseconds))
    }
}
