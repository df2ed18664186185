import BusSystem
import Synchronization

/// Wakes the loop where it waits for sockets: an event came from another queue, or work waits for the bus queue.
final class EventFD: Sendable {
    /// The token under which the poller knows it.
    static let token: UInt64 = 1 << 62

    /// Readable while it rings.
    var descriptor: Int32 { wakeUp.descriptor }
    /// If there is no descriptor left, the poller will refuse it.
    private let wakeUp = WakeUp()
    private let isRinging = Atomic<Bool>(false)
    private let callsForQueue = Atomic<Bool>(false)

    func ring() {
        if isRinging.exchange(true, ordering: .acquiringAndReleasing) { return }
        wakeUp.signal()
    }

    /// Work was put on the bus queue, which the loop must release for it.
    func callForQueue() {
        callsForQueue.store(true, ordering: .releasing)
        ring()
    }

    /// Waits until it rings, for this long at most, and resets it: before there is a loop that waits.
    func wait(milliseconds: Int32) {
        if wakeUp.wait(milliseconds: milliseconds) { _ = heard() }
    }

    /// Resets it; true if the queue must be released.
    func heard() -> Bool {
        wakeUp.clear()
        isRinging.store(false, ordering: .releasing)
        return callsForQueue.exchange(false, ordering: .acquiringAndReleasing)
    }
}
