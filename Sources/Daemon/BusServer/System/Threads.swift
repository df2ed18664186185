import Glibc

/// A lock that its waiters get in the order in which they came. Whoever releases it and wants it again comes after those who
/// wait, which a `ThreadLock` does not promise: a loop of short holds would keep everybody else out.
package final class FairLock: Sendable {
    private let lock = ThreadLock()
    private let tickets = Tickets()

    /// `@unchecked Sendable`: accessed under the lock.
    private final class Tickets: @unchecked Sendable {
        var next = 0
        var served = 0
    }

    package init() {}

    package func acquire() {
        lock.locked {
            let ticket = tickets.next
            tickets.next += 1
            while tickets.served != ticket { lock.wait() }
        }
    }

    /// Acquires it if nobody has it, nor waits for it.
    package func acquireIfFree() -> Bool {
        var isFree = false
        lock.locked {
            isFree = tickets.next == tickets.served
            if isFree { tickets.next += 1 }
        }
        return isFree
    }

    package func release() {
        lock.locked {
            tickets.served += 1
            if tickets.served != tickets.next { lock.signal() }
        }
    }

    /// How many wait for it.
    package var waiting: Int {
        var count = 0
        lock.locked { count = max(0, tickets.next - tickets.served - 1) }
        return count
    }
}

/// A lock with a condition to wait for, where the standard library has only a lock.
///
/// `@unchecked Sendable`: it makes other types safe.
final class ThreadLock: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A wait with a timeout must not depend on the clock being set.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func acquire() { pthread_mutex_lock(mutex) }
    func release() { pthread_mutex_unlock(mutex) }

    /// Acquires it if nobody has it.
    func acquireIfFree() -> Bool { pthread_mutex_trylock(mutex) == 0 }

    func locked(_ body: () -> Void) {
        acquire()
        body()
        release()
    }

    /// Wakes all waiters. Hold the lock.
    func signal() { pthread_cond_broadcast(condition) }

    /// Releases the lock until `signal`.
    func wait() { pthread_cond_wait(condition, mutex) }

    /// The same, for this long at most.
    func wait(milliseconds: Int) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let nanoseconds = time.tv_nsec + milliseconds % 1000 * 1_000_000
        time.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        pthread_cond_timedwait(condition, mutex, &time)
    }
}
