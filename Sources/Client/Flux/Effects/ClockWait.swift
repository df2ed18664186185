import Synchronization

/// A wait for a clock: for one task, and until a time that is said once.
final class ClockWait: Sendable {
    private let clock: StoreClock
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation
    private let alarm = Mutex<Disposable?>(nil)

    init(for clock: StoreClock) {
        self.clock = clock
        (gate, opener) = AsyncStream.makeStream()
    }

    /// Begins the wait, which is over once the clock has reached that time.
    func begin(until time: Duration) {
        guard clock.now < time else { return opener.finish() }
        // A call that comes too early does no harm.
        let next = clock.wake(at: time) { self.begin(until: time) }
        alarm.withLock { $0 = next }
    }

    /// Returns when the wait is over. Throws `CancellationError` when the task is cancelled.
    func end() async throws {
        for await _ in gate {}
        alarm.withLock { $0.take() }?.dispose()
        try Task.checkCancellation()
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
        let wait = ClockWait(for: self)
        wait.begin(until: now + duration)
        try await wait.end()
    }
}
