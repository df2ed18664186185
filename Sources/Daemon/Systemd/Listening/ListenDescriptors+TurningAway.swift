import CSystemd
import Glibc

/// Ending without a loop when the configuration is wrong.
extension ListenDescriptors {
    /// Accepts every connection that waits at a remaining listener, and closes it. Returns how many there were.
    ///
    /// A service that was started by a connection and can't serve it must not leave it waiting: the manager
    /// would find it still there, and start the service again and again, until it gives the socket up.
    /// Clients see their end at once.
    ///
    /// ```swift
    /// guard let setup = load() else {
    ///     try passed.turnAwayWaiting()
    ///     exit(78)
    /// }
    /// ```
    @discardableResult
    public func turnAwayWaiting() throws(SystemdError) -> Int {
        var count = 0
        for candidate in remaining {
            guard try SocketKind.streamListener.matches(candidate.descriptor) else { continue }
            // No more than the longest queue the kernel has, or clients that come back at once would keep it here.
            for _ in 0..<4096 where Self.isReady(candidate.descriptor) {
                let connection = accept(candidate.descriptor, nil, nil)
                guard connection >= 0 else { break }
                close(connection)
                count += 1
            }
        }
        return count
    }

    private static func isReady(_ listener: Int32) -> Bool {
        var waited = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&waited, 1, 0)
            if count >= 0 { return count > 0 }
            if errno != EINTR { return false }
        }
    }
}
