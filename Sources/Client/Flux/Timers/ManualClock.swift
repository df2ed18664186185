import Synchronization

/// A clock that stands still until it is advanced: timers in tests, and in programs with a time of their own.
///
/// ```swift
/// let time = ManualClock()
/// let store = Store<Lamp>(state: Lamp(), clock: time.clock)
/// store.dispatch(.switchOn(minutes: 5))
/// time.advance(by: .seconds(300))          // returns when what is due has been dispatched
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

    /// A clock at zero.
    public init() {}

    /// The clock, for a store; any number of stores may share it.
    public var clock: StoreClock {
        StoreClock(now: { self.now }, wake: { self.wake(at: $0, $1) })
    }

    /// How far it has been advanced.
    public var now: Duration { contents.withLock { $0.now } }

    /// The time at which it will wake somebody next; nil while nobody waits for it.
    public var nextAlarm: Duration? { contents.withLock { $0.alarms.first?.time } }

    /// Lets time pass, from one due timer to the next: each sees its own time as `now`. To be called from one thread at a
    /// time.
    public func advance(by duration: Duration) {
        precondition(
            duration >= .zero, "A clock does not go back; advance it by a duration that is not negative.")
        let end = now + duration
        while let alarm = nextAlarm(until: end) { alarm.body() }
        contents.withLock { $0.now = end }
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
