import CSystemd
import Glibc

/// The descriptors that the manager passed to this process: sockets of socket units, and stored descriptors.
///
/// Guarantees: each is closed on exec; each is taken once; nothing is closed behind the caller's back.
/// Descriptors not taken stay in `remaining`, to be logged and closed: a forgotten socket would accept
/// connections for ever without answering them.
///
/// ```swift
/// var passed = try ListenDescriptors()
/// let listeners = try passed.take(named: "bus", as: .streamListener)
/// let state = passed.take(named: "state").last
/// for stranger in passed.remaining { close(stranger.descriptor) }
/// ```
public struct ListenDescriptors: Sendable {
    /// Descriptors not taken yet, in the manager's order.
    public private(set) var remaining: [PassedDescriptor]

    /// Reads from libsystemd what was passed (`sd_listen_fds_with_names`): nothing if the variables are absent
    /// or meant for another process. It removes them, so that children do not mistake them for theirs: call it
    /// once, before there are threads.
    ///
    /// - Throws: `environment` if the variables hold what no manager writes; `system` if a descriptor
    ///   that should be there is not.
    public init() throws(SystemdError) {
        let said = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].compactMap { (name: String) in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count >= 0 else {
            if count == -EBADF {
                throw SystemdError.failed(
                    "Taking over descriptors", -count,
                    advice: "LISTEN_FDS promises it; start the service by its unit.")
            }
            throw SystemdError(
                .environment,
                "The service manager can't have said \(said.joined(separator: " ")); start the service by its unit.",
                systemCode: -count)
        }
        defer { free(names) }
        self.init(
            (0..<count).map { index in
                let name = names?[Int(index)]
                defer { free(name) }
                return PassedDescriptor(
                    descriptor: SD_LISTEN_FDS_START + index, name: name.map { String(cString: $0) } ?? "")
            })
    }

    /// Made from these descriptors.
    package init(_ passed: [PassedDescriptor]) { remaining = passed }

    /// Takes all of this name, in the manager's order.
    public mutating func take(named name: String) -> [PassedDescriptor] {
        let taken = remaining.filter { $0.name == name }
        remaining.removeAll { $0.name == name }
        return taken
    }

    /// Takes all of this name as sockets of one kind.
    ///
    /// - Throws: `descriptor` if one is something else; then none is taken.
    public mutating func take(named name: String, as kind: SocketKind) throws(SystemdError) -> [Int32] {
        for candidate in remaining where candidate.name == name {
            guard try kind.matches(candidate.descriptor) else {
                throw SystemdError(
                    .descriptor,
                    "The descriptor `\(name)` (\(candidate.descriptor)) is not \(kind); correct the Listen "
                        + "settings of the socket unit with FileDescriptorName=\(name).")
            }
        }
        return take(named: name).map(\.descriptor)
    }
}

/// A descriptor that the manager passed to this process, with the name it goes by.
public struct PassedDescriptor: Sendable, Hashable {
    /// Open, and closed on exec. The caller that takes it owns it.
    public let descriptor: Int32
    /// The socket unit's `FileDescriptorName=`, or the name under which it was stored. Several may share one.
    public let name: String

    public init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }
}

/// Ending without a loop when the configuration is wrong.
extension ListenDescriptors {
    /// Accepts and closes the connections waiting at remaining listeners, at most 4096 each. Returns how many.
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
