import CLinux
import Glibc
import Synchronization

/// Wakes the loop where it waits for sockets: an event came from another queue, or work waits for the bus queue.
final class EventFD: Sendable {
    /// The token under which the poller knows it.
    static let token: UInt64 = 1 << 62

    /// Readable while it rings.
    let descriptor: Int32
    private let isRinging = Atomic<Bool>(false)
    private let callsForQueue = Atomic<Bool>(false)

    /// If there is no descriptor left, the poller will refuse it.
    init() { descriptor = linux_event_descriptor() }

    deinit { if descriptor >= 0 { SystemCall.close(descriptor) } }

    func ring() {
        if isRinging.exchange(true, ordering: .acquiringAndReleasing) { return }
        var one: UInt64 = 1
        _ = Glibc.write(descriptor, &one, 8)
    }

    /// Work was put on the bus queue, which the loop must release for it.
    func callForQueue() {
        callsForQueue.store(true, ordering: .releasing)
        ring()
    }

    /// Waits until it rings, for this long at most, and resets it: before there is a loop that waits.
    func wait(milliseconds: Int32) {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&ready, 1, milliseconds) > 0 { _ = heard() }
    }

    /// Resets it; true if the queue must be released.
    func heard() -> Bool {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
        isRinging.store(false, ordering: .releasing)
        return callsForQueue.exchange(false, ordering: .acquiringAndReleasing)
    }
}
