import Dispatch

/// The clock of a store's timers: what time it is, and how to be called when it is later.
///
/// ```swift
/// let time = ManualClock()
/// let store = Store<Lamp>(state: Lamp(), clock: time.clock)   // time passes when the program says so
/// ```
///
/// A store without timers never looks at it, unless a ``Recorder`` records it.
public struct StoreClock: Sendable {
    private let read: @Sendable () -> Duration
    private let call: @Sendable (Duration, @escaping @Sendable () -> Void) -> Disposable
    /// Of a clock that is advanced by hand: the work for which it waits.
    let roster: WorkRoster?

    /// A custom clock.
    ///
    /// - Parameters:
    ///   - now: The time that has passed since a moment of the clock's choice. It never goes back.
    ///   - wake: Arranges that the closure is called once `now` has reached that time; if it has already, at once. The
    ///     call may come on any thread, but not under a lock that `now` or `wake` take. One that comes too early does
    ///     no harm: the store asks again. Disposing of what is returned means that no call is wanted any more.
    public init(
        now: @escaping @Sendable () -> Duration,
        wake: @escaping @Sendable (_ time: Duration, _ body: @escaping @Sendable () -> Void) -> Disposable
    ) {
        self.init(roster: nil, now: now, wake: wake)
    }

    init(
        roster: WorkRoster?, now: @escaping @Sendable () -> Duration,
        wake: @escaping @Sendable (_ time: Duration, _ body: @escaping @Sendable () -> Void) -> Disposable
    ) {
        self.roster = roster
        read = now
        call = wake
    }

    /// The time since a moment of the clock's choice.
    public var now: Duration { read() }

    func wake(at time: Duration, _ body: @escaping @Sendable () -> Void) -> Disposable { call(time, body) }

    /// Real time, which goes on while the machine is suspended: what came due meanwhile is due when it goes on.
    public static let continuous: StoreClock = {
        let clock = ContinuousClock()
        let start = clock.now
        let now: @Sendable () -> Duration = { start.duration(to: clock.now) }
        return StoreClock(now: now) { time, body in
            let rest = DispatchTimeInterval.nanoseconds((time - now()).roundedUpToNanoseconds)
            // The first does not go on while the machine is suspended, the second is off when the date is set: whichever
            // comes first, the store looks at `now`, and asks again if that was too early.
            let (uptime, date) = (Alarm(body), Alarm(body))
            uptime.source.schedule(deadline: .now() + rest)
            date.source.schedule(wallDeadline: .now() + rest)
            uptime.source.activate()
            date.source.activate()
            return Disposable {
                uptime.source.cancel()
                date.source.cancel()
            }
        }
    }()

    /// A timer of Dispatch, on one of its threads. It is used from one thread at a time, and cancelled from any, which
    /// Dispatch allows.
    private final class Alarm: @unchecked Sendable {
        let source = DispatchSource.makeTimerSource(queue: .global())

        init(_ body: @escaping @Sendable () -> Void) { source.setEventHandler(handler: body) }
    }
}

extension Duration {
    /// As an integer, 0 for what is negative, and at most 95 years, which leaves room for the time that it is added to.
    package var roundedUpToNanoseconds: Int {
        if self <= .zero { return 0 }
        let (seconds, attoseconds) = min(self, .seconds(3_000_000_000)).components
        return Int(seconds) * 1_000_000_000 + Int((attoseconds + 999_999_999) / 1_000_000_000)
    }
}
