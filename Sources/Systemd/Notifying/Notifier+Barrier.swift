import CSystemd
import Glibc

/// Waiting until the manager has read what it was told.
extension Notifier {
    /// Returns when the manager has worked off every notification sent before. Without a manager at once.
    ///
    /// A process that stores descriptors and ends needs it: what stands in the queue of a process that is gone may
    /// not be believed.
    ///
    /// - Throws: `timeout` if the manager did not get there in time.
    public func settle(within time: Duration) throws(SystemdError) {
        guard isHeard else { return }
        var ends: [Int32] = [-1, -1]
        guard systemd_pipe(&ends) == 0 else { throw SystemdError.failed("pipe2") }
        defer { close(ends[0]) }
        do {
            // The manager closes the end it gets when it comes to this message; ours must be closed too.
            defer { close(ends[1]) }
            try send([Message("BARRIER", "1")], descriptors: [ends[1]])
        }
        let deadline = Duration.monotonicNow() + time
        while true {
            let left = max(.zero, deadline - .monotonicNow())
            var waited = pollfd(fd: ends[0], events: 0, revents: 0)
            let count = poll(&waited, 1, Int32(clamping: left.microseconds / 1000 + 1))
            if count > 0 { return }
            if count < 0, errno != EINTR { throw SystemdError.failed("poll") }
            if left == .zero {
                throw SystemdError(
                    .timeout, "The service manager did not read the notifications in time; try again later.")
            }
        }
    }
}
