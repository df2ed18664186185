import Synchronization

/// A wait for a clock: for one task, and until a time that is said once.
final class ClockWait: Sendable {
    private enum Sleep {
        case before, during, over
    }

    private let clock: StoreClock
    private let work: RosteredWork?
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation
    private let alarm = Mutex<Disposable?>(nil)
    private let sleep = Mutex(Sleep.before)

    /// A wait of `work`, which a clock that is advanced by hand knows to be asleep meanwhile.
    init(for clock: StoreClock, of work: RosteredWork?) {
        self.clock = clock
        self.work = clock.roster == nil ? nil : work
        (gate, opener) = AsyncStream.makeStream()
    }

    /// Begins the wait, which is over once the clock has reached that time.
    func begin(until time: Duration) {
        guard clock.now < time else {
            wakeUp()
            return opener.finish()
        }
        fallAsleep()
        // A call that comes too early does no harm.
        let next = clock.wake(at: time) { self.begin(until: time) }
        alarm.withLock { $0 = next }
        // A task that was cancelled may have ended by now, and nobody else would give the alarm up.
        if sleep.withLock({ $0 == .over }) { endAlarm() }
    }

    /// Returns when the wait is over. Throws `CancellationError` when the task is cancelled.
    func end() async throws {
        await withTaskCancellationHandler {
            for await _ in gate {}
        } onCancel: {
            wakeUp()
        }
        wakeUp()
        endAlarm()
        try Task.checkCancellation()
    }

    private func endAlarm() { alarm.withLock { $0.take() }?.dispose() }

    private func fallAsleep() {
        sleep.withLock { sleep in
            guard case .before = sleep else { return }
            sleep = .during
            work?.fallAsleep()
        }
    }

    private func wakeUp() {
        sleep.withLock { sleep in
            if case .during = sleep { work?.wakeUp() }
            sleep = .over
        }
    }
}

extension StoreClock {
    /// Returns once so much time has passed by this clock. Throws `CancellationError` when the task is cancelled.
    ///
    /// ```swift
    /// let blink = Thunk<Lamp> { store in
    ///     store.dispatch(.switchOn)
    ///     try await clock.sleep(for: .seconds(1))
    ///     store.dispatch(.switchOff)
    /// }
    /// ```
    public func sleep(for duration: Duration) async throws {
        let wait = ClockWait(for: self, of: RosteredWork.current)
        wait.begin(until: now + duration)
        try await wait.end()
    }
}
