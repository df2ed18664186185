import Glibc
import Synchronization

/// Ports of loopback on which nobody listens, each given out once.
///
/// They lie below those that the kernel chooses itself: one of these could be taken between now and its use, or by somebody
/// else once the test has closed it.
package enum FreePorts {
    private static let range: ClosedRange<UInt16> = 10_000...32_000
    /// Begins anywhere, so that processes that test at the same time hardly meet.
    private static let next = Mutex(UInt16.random(in: range))

    package static func take(_ count: Int) throws -> [UInt16] {
        try (0..<count).map { _ in
            for _ in range {
                let port = next.withLock { next in
                    defer { next = next == range.upperBound ? range.lowerBound : next + 1 }
                    return next
                }
                if isFree(port) { return port }
            }
            throw Sockets.Failure("There is no free port on loopback.")
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        guard let socket = try? Sockets.bind(to: "tcp:127.0.0.1:\(port)") else { return false }
        close(socket)
        return true
    }
}
