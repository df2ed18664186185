import CSystemd
import Glibc

/// The expected kind of a passed descriptor. A socket unit that was written by hand can pass anything; a server that
/// calls `accept` on a datagram socket fails late and unclearly.
///
/// libsystemd checks it (`sd_is_socket`), which knows all the kinds.
public enum SocketKind: Sendable, Hashable, CustomStringConvertible {
    /// A Unix stream socket that listens.
    case unixListener
    /// A TCP socket that listens, of IPv4 or IPv6.
    case tcpListener
    /// Either of the two.
    case streamListener
    /// A connected stream socket of any family.
    case streamConnection

    public var description: String {
        switch self {
        case .unixListener: "a listening Unix stream socket"
        case .tcpListener: "a listening TCP socket"
        case .streamListener: "a listening stream socket"
        case .streamConnection: "a stream connection"
        }
    }

    /// Whether the descriptor is of this kind.
    ///
    /// - Throws: `system` if it is not open.
    public func matches(_ descriptor: Int32) throws(SystemdError) -> Bool {
        let stream = Int32(systemd_stream)
        let answer =
            switch self {
            case .unixListener: sd_is_socket_unix(descriptor, stream, 1, nil, 0)
            case .tcpListener: sd_is_socket_inet(descriptor, AF_UNSPEC, stream, 1, 0)
            case .streamListener: sd_is_socket(descriptor, AF_UNSPEC, stream, 1)
            case .streamConnection: sd_is_socket(descriptor, AF_UNSPEC, stream, 0)
            }
        guard answer >= 0 else {
            throw SystemdError.failed("Asking what descriptor \(descriptor) is", -answer)
        }
        return answer > 0
    }
}
