import Glibc

/// A file lock held elsewhere, awaited with a timeout: the system has no such call, so a thread waits for the lock
/// without end, and the caller waits for the thread.
///
/// `@unchecked Sendable`: everything mutable is accessed under `lock`.
final class LockAwaited: @unchecked Sendable {
    private let descriptor: Int32
    private let lock = ThreadLock()
    private var isHeld = false
    private var hasFailed = false
    private var isGivenUp = false

    /// Owns the descriptor until `isHeld` has returned true.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        startNecessaryThread(named: "fluxbus-lock") { [self] in waitForIt() }
    }

    private func waitForIt() {
        var result = flock(descriptor, LOCK_EX)
        while result != 0, errno == EINTR { result = flock(descriptor, LOCK_EX) }
        lock.locked {
            isHeld = result == 0
            hasFailed = result != 0
            // The caller has given up.
            if isGivenUp { SystemCall.close(descriptor) }
            lock.signal()
        }
    }

    /// Whether the lock came in time. If not, the descriptor is closed as soon as it can be.
    func isHeld(within milliseconds: Int) -> Bool {
        let end = MonotonicClock.read() + milliseconds
        var result = false
        lock.locked {
            while !isHeld, !hasFailed, MonotonicClock.read() < end {
                lock.wait(milliseconds: max(1, end - MonotonicClock.read()))
            }
            result = isHeld
            if hasFailed { SystemCall.close(descriptor) }
            isGivenUp = !result && !hasFailed
        }
        return result
    }
}
