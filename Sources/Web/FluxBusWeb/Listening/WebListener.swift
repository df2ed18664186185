import BusSystem
import CLinux
import Glibc
import Systemd

/// A socket that listens for browsers. The file of one that we opened is removed with it.
///
/// `@unchecked Sendable`: who opens it passes it on to the front's thread, and uses it no more.
package final class WebListener: @unchecked Sendable {
    package let descriptor: Int32
    /// Where it listens; nil for a Unix socket.
    package let internet: InternetAddress?
    /// The path of a Unix socket.
    package let path: String?
    /// TLS protects the connections.
    package let isSecure: Bool
    private let isOurs: Bool
    private var isOpen = true

    private init(
        _ descriptor: Int32, _ internet: InternetAddress?, path: String?, isSecure: Bool, isOurs: Bool
    ) {
        (self.descriptor, self.internet, self.path) = (descriptor, internet, path)
        (self.isSecure, self.isOurs) = (isSecure, isOurs)
    }

    deinit { close() }

    /// - Parameter isSecure: Whether there is a certificate: then all internet sockets have TLS.
    package static func open(
        _ address: WebAddress, isSecure: Bool, _ passed: inout ListenDescriptors
    ) throws(WebFailure) -> [WebListener] {
        switch address {
        case .internet(let address): return [try open(address, isSecure: isSecure)]
        case .unix(let path): return [try open(path)]
        case .systemd(let name):
            let descriptors: [Int32]
            do throws(SystemdError) {
                descriptors = try passed.take(named: name, as: .streamListener)
            } catch {
                throw WebFailure(.configuration, error.message)
            }
            guard !descriptors.isEmpty else {
                throw WebFailure(
                    .configuration,
                    "systemd passed no socket named `\(name)`; start the service by a socket unit with FileDescriptorName=\(name)."
                )
            }
            var listeners: [WebListener] = []
            for descriptor in descriptors {
                _ = linux_set_nonblocking(descriptor, 1)
                let internet = InternetAddress(boundBy: descriptor)
                if let internet { try check(internet, isSecure) }
                listeners.append(
                    WebListener(
                        descriptor, internet, path: internet == nil ? unixPath(of: descriptor) : nil,
                        isSecure: isSecure && internet != nil, isOurs: false))
            }
            return listeners
        }
    }

    /// Beyond this machine, tokens and what they open would be there for everybody on the way.
    private static func check(_ address: InternetAddress, _ isSecure: Bool) throws(WebFailure) {
        guard !address.isLoopback, !isSecure else { return }
        throw WebFailure(
            .configuration,
            "Other machines reach \(address.text), and without TLS everybody on the way could read and change what is sent; give "
                + "--tls-certificate and --tls-key, or listen on 127.0.0.1.")
    }

    private static func open(_ address: InternetAddress, isSecure: Bool) throws(WebFailure) -> WebListener {
        try check(address, isSecure)
        let descriptor = try openUnchecked(address)
        return WebListener(
            descriptor, InternetAddress(boundBy: descriptor) ?? address, path: nil, isSecure: isSecure,
            isOurs: true)
    }

    /// A socket that listens, whoever reaches it.
    package static func openUnchecked(_ address: InternetAddress) throws(WebFailure) -> Int32 {
        do throws(SystemError) {
            return try address.listen()
        } catch {
            switch error.code {
            case _ where error.call == "socket":
                throw WebFailure(.system, "No socket can be opened (\(error.reason)).")
            case EADDRINUSE:
                throw WebFailure(
                    .inUse, "\(address.text) is in use; choose another port with --listen, or :0 for any.")
            case EADDRNOTAVAIL:
                throw WebFailure(
                    .configuration,
                    "This machine has no address \(address.host); listen on one that it has.")
            default:
                throw WebFailure(.system, "\(address.text) can't be listened on (\(error.reason)).")
            }
        }
    }

    /// Only the own user may connect: a proxy in front runs as it, or the folder says who else may.
    private static func open(_ path: String) throws(WebFailure) -> WebListener {
        let address = UnixAddress(path)
        try removeStale(path, address.occupant())
        let descriptor = linux_stream_socket(AF_UNIX, 1)
        guard descriptor >= 0 else {
            throw WebFailure(.system, "No socket can be opened (\(systemReason())).")
        }
        // The file has the mode of the socket.
        guard fchmod(descriptor, 0o600) == 0, address.bind(descriptor) == 0,
            listen(descriptor, SOMAXCONN) == 0
        else {
            let code = errno
            Glibc.close(descriptor)
            throw WebFailure(
                code == EADDRINUSE ? .inUse : .system,
                "The socket \(path) can't be opened (\(systemReason(code))); choose a folder that this user can write to."
            )
        }
        return WebListener(descriptor, nil, path: path, isSecure: false, isOurs: true)
    }

    private static func removeStale(
        _ path: String, _ occupant: UnixAddress.Occupant
    ) throws(WebFailure) {
        switch occupant {
        case .nothing: break
        case .stale: unlink(path)
        case .live: throw WebFailure(.inUse, "Another program answers at \(path); choose another path.")
        case .other:
            throw WebFailure(.configuration, "\(path) is a file, not a socket; choose another path.")
        case .unknown(let error):
            throw WebFailure(
                .system,
                "\(path) is a socket of which nobody can say whether a program answers (\(error.reason)); choose another path."
            )
        }
    }

    private static func unixPath(of descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        let bytes = withUnsafeBytes(of: &address.sun_path) { Array($0.prefix { $0 != 0 }) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What a connection from here needs.
    package func prepare(_ connection: Int32) {
        if internet != nil { TCPSocket.prepare(connection) }
    }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        if isOurs, let path { unlink(path) }
        Glibc.close(descriptor)
    }
}
