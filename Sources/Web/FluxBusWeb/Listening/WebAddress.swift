import CLinux
import Glibc

/// Where the web server listens: `127.0.0.1:7480`, `[::1]:7480`, `localhost:7480`, `unix:/path`, or `systemd:NAME` for the
/// sockets that systemd passes under that name. Hosts are addresses: who may reach the server must not depend on a name
/// server.
package enum WebAddress: Equatable, Sendable {
    /// Port 0 lets the system choose one.
    case internet(InternetAddress)
    case unix(path: String)
    case systemd(name: String)

    package init(parsing text: String) throws(WebFailure) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/"), path.utf8.count <= linux_unix_path_limit else {
                throw WebFailure(
                    .configuration,
                    "`\(text)` is not the path of a socket; write unix: and an absolute path of at most "
                        + "\(linux_unix_path_limit) bytes.")
            }
            self = .unix(path: path)
        } else if text.hasPrefix("systemd:"), text.utf8.count > 8 {
            self = .systemd(name: String(text.dropFirst(8)))
        } else if let address = InternetAddress(parsing: text) {
            self = .internet(address)
        } else {
            throw WebFailure(
                .configuration,
                "`\(text)` is not an address to listen on; write 127.0.0.1:7480, [::1]:7480, unix:/path or systemd:NAME, "
                    + "with an address of this machine instead of a name.")
        }
    }
}

/// A host, as an address, and a port.
package struct InternetAddress: Equatable, Sendable {
    /// Without brackets: `127.0.0.1`, `::1`.
    package let host: String
    package let port: UInt16
    /// In network order: 4 bytes or 16.
    private let bytes: [UInt8]

    package init?(parsing text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else if host == "localhost" {
            host = "127.0.0.1"
        } else if host.contains(":") {
            return nil
        }
        guard let bytes = Self.bytes(of: host) else { return nil }
        self.init(bytes, port: port)
    }

    private init(_ bytes: [UInt8], port: UInt16) {
        self.bytes = bytes
        self.port = port
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The bytes of an address; nil when the text is none.
    package static func bytes(of host: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : nil
    }

    package var isVersion6: Bool { bytes.count == 16 }

    /// Whether no other machine reaches it.
    package var isLoopback: Bool {
        isVersion6 ? bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1 : bytes[0] == 127
    }

    /// Whether it stands for all addresses of this machine.
    package var isWildcard: Bool { bytes.allSatisfy { $0 == 0 } }

    /// `127.0.0.1:7480`, `[::1]:7480`.
    package var text: String { "\(isVersion6 ? "[\(host)]" : host):\(port)" }

    /// The address to which a socket is bound; nil for one that is no internet socket.
    package init?(boundBy descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        self.init(storage)
    }

    /// Nil for the address of a socket that is no internet socket.
    init?(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in.self) }
            self.init(
                withUnsafeBytes(of: address.sin_addr) { Array($0) }, port: UInt16(bigEndian: address.sin_port)
            )
        case AF_INET6:
            let address = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in6.self) }
            self.init(
                withUnsafeBytes(of: address.sin6_addr) { Array($0) },
                port: UInt16(bigEndian: address.sin6_port))
        default: return nil
        }
    }

    /// Passes the address in the form of the kernel.
    package func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if isVersion6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            return withUnsafeBytes(of: &address) { Self.pass($0, body) }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
        return withUnsafeBytes(of: &address) { Self.pass($0, body) }
    }

    private static func pass<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        guard let base = bytes.baseAddress else { preconditionFailure("A socket's address has bytes.") }
        return body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
}
