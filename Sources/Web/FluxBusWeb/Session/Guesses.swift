import Synchronization

/// Wrong guesses of all who ask, counted together.
final class Guesses: Sendable {
    private let limit = Mutex(AttemptLimit())
    private let now: @Sendable () -> Int

    /// - Parameter now: Seconds since 1970.
    init(now: @escaping @Sendable () -> Int) { self.now = now }

    /// Seconds until another guess is looked at; nil: now.
    func wait() -> Int? { limit.withLock { $0.wait(now: now()) } }

    func addWrong() { limit.withLock { $0.addWrong(now: now()) } }
}
