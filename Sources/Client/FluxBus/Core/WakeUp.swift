internal import CLinux

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An event descriptor by which any thread ends another one's wait.
struct WakeUp: ~Copyable, Sendable {
    let descriptor: Int32

    init() throws(BusError) {
        descriptor = linux_event_descriptor()
        guard descriptor >= 0 else {
            throw BusError(.limit, "No descriptor is left for a connection: \(systemReason(errno)).")
        }
    }

    deinit { close(descriptor) }

    /// Ends the present wait, or the next one.
    func signal() {
        var one: UInt64 = 1
        // It fails only when the counter is full, and then the wait ends as well.
        _ = write(descriptor, &one, 8)
    }

    /// Resets the signal.
    func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    /// Waits for a signal alone, for at most this many milliseconds; -1: as long as it takes.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
