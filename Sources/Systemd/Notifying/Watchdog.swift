/// How often the manager wants to hear that the service is alive, if it does.
///
/// Why it is no timer: a watchdog that is fed by a timer of its own tells that the timer works. Feed it from the work
/// that must not stand still; this says only how often.
///
/// ```swift
/// if let watchdog = try Watchdog(environment) {
///     scheduleOnTheCommitQueue(every: watchdog.beat) { try? notifier.send(.watchdog, waiting: false) }
/// }
/// ```
public struct Watchdog: Sendable, Hashable {
    /// After this time without a beat the manager ends the service (`WatchdogSec=`).
    public let interval: Duration

    /// How often to feed it: half of the interval, as systemd advises, so that one beat may be late.
    public var beat: Duration { interval / 2 }

    /// Nil without a watchdog, or when it is another process's.
    ///
    /// - Throws: `environment` if `WATCHDOG_USEC` or `WATCHDOG_PID` holds no number, or an interval of nothing.
    public init?(_ environment: ServiceEnvironment) throws(SystemdError) {
        guard let microseconds = try environment.number("WATCHDOG_USEC") else { return nil }
        guard try environment.isMeantForUs("WATCHDOG_PID") else { return nil }
        guard microseconds > 0, let count = Int64(exactly: microseconds) else {
            throw SystemdError(
                .environment, "WATCHDOG_USEC is \(microseconds), which is no interval; set WatchdogSec= anew."
            )
        }
        interval = .microseconds(count)
    }
}
