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
