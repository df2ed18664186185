import Synchronization

/// A clock that stands still until it is advanced: timers in tests, and in programs with a time of their own.
///
/// ```swift
/// let time = ManualClock()
/// let store = Store<Lamp>(state: Lamp(), clock: time.clock)
/// store.dispatch(.switchOn(minutes: 5))
/// await time.advance(by: .seconds(300))    // returns when what is due has been dispatched
/// ```
public final class ManualClock: Sendable {
    private struct Alarm {
        let number: Int
        let time: Duration
        let body: @Sendable () -> Void
    }

    private struct Contents {
        var now = Duration.zero
        /// In the order in which they are due.
        var alarms: [Alarm] = []
        var alarmCount = 0
    }

    private let contents = Mutex(Contents())
    private let roster = WorkRoster()

    /// A clock at zero.
    public init() {}

    /// The clock, for a store; any number of stores may share it.
    public var clock: StoreClock {
        StoreClock(roster: roster, now: { self.now }, wake: { self.wake(at: $0, $1) })
    }

    /// How far it has been advanced.
    public var now: Duration { contents.withLock { $0.now } }

    /// The time at which it will wake somebody next; nil while nobody waits for it.
    public var nextAlarm: Duration? { contents.withLock { $0.alarms.first?.time } }

    /// Lets time pass, from one due timer to the next: each sees its own time as `now`. To be called by one task at a time.
    ///
    /// Before it begins, and after each timer, it waits until all work that was dispatched to stores of this clock sleeps by it or
    /// has ended; so a thunk that has just been dispatched does not miss its time, and what one does that wakes up is done
    /// when this returns. Work that waits for anything else holds it up for a tenth of a second.
    public nonisolated(nonsending) func advance(by duration: Duration) async {
        let end = end(of: duration)
        await roster.settle()
        while let alarm = nextAlarm(until: end) {
            alarm.body()
            await roster.settle()
        }
        contents.withLock { $0.now = end }
    }

    /// Lets time pass for code that can't wait: timers fire in it, but work that was dispatched sleeps and wakes up when it has
    /// its turn. To be called from one thread at a time.
    @available(
        *, noasync, message: "Write `await`: then it waits until what was dispatched sleeps or has ended."
    )
    public func advance(by duration: Duration) {
        let end = end(of: duration)
        while let alarm = nextAlarm(until: end) { alarm.body() }
        contents.withLock { $0.now = end }
    }

    private func end(of duration: Duration) -> Duration {
        precondition(
            duration >= .zero, "A clock does not go back; advance it by a duration that is not negative.")
        return now + duration
    }

    /// Goes to the next alarm and takes it away.
    private func nextAlarm(until end: Duration) -> Alarm? {
        contents.withLock { contents in
            guard let first = contents.alarms.first, first.time <= end else { return nil }
            contents.now = max(contents.now, first.time)
            return contents.alarms.removeFirst()
        }
    }

    private func wake(at time: Duration, _ body: @escaping @Sendable () -> Void) -> Disposable {
        let number = contents.withLock { contents -> Int? in
            if time <= contents.now { return nil }
            contents.alarmCount += 1
            let alarm = Alarm(number: contents.alarmCount, time: time, body: body)
            let place = contents.alarms.firstIndex { $0.time > time } ?? contents.alarms.count
            contents.alarms.insert(alarm, at: place)
            return alarm.number
        }
        guard let number else {
            body()
            return Disposable {}
        }
        return Disposable { [weak self] in self?.forget(number) }
    }

    private func forget(_ number: Int) {
        // Released outside the lock: the closure may hold anything.
        _ = contents.withLock { contents -> Alarm? in
            contents.alarms.firstIndex { $0.number == number }.map { contents.alarms.remove(at: $0) }
        }
    }
}
