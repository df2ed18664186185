import CLinux
import Glibc

/// An event descriptor, by which any thread ends another one's wait.
package struct WakeUp: ~Copyable, Sendable {
    /// Readable from a signal until it is cleared; -1 where the process has no descriptor left, as `errno` says then.
    package let descriptor: Int32

    package init() { descriptor = linux_event_descriptor() }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Ends the present wait, or the next one.
    package func signal() {
        var one: UInt64 = 1
        // It fails only when the counter is full, and then the wait ends as well.
        _ = write(descriptor, &one, 8)
    }

    package func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    /// Waits for a signal for at most this many milliseconds; -1: as long as it takes. True if there was one.
    @discardableResult
    package func wait(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}
