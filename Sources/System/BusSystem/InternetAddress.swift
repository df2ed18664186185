import CLinux
import Glibc

/// A host, as an address in numbers, and a port. Who is reached must not depend on a name server.
package struct InternetAddress: Equatable, Sendable {
    /// Without brackets: `127.0.0.1`, `::1`.
    package let host: String
    package let port: UInt16
    /// In network order: 4 bytes or 16.
    private let bytes: [UInt8]

    /// Of `127.0.0.1:7480`, `[::1]:7480`, `localhost:7480`; nil for other texts.
    package init?(parsing text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        guard host.contains(":") == (host.hasPrefix("[") && host.hasSuffix("]")) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// A host as people write it: `127.0.0.1`, `localhost`, `0.0.0.0`, `::1`, `[::]`; nil when it is no address.
    package init?(host text: String, port: UInt16) {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard let bytes = Self.bytes(of: bare == "localhost" ? "127.0.0.1" : bare) else { return nil }
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
    package init?(_ storage: sockaddr_storage) {
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

    /// A socket that listens here. Throws the kernel's reason: `EADDRINUSE`, `EADDRNOTAVAIL` and others.
    package func listen() throws(SystemError) -> Int32 {
        let descriptor = linux_stream_socket(isVersion6 ? AF_INET6 : AF_INET, 1)
        guard descriptor >= 0 else { throw SystemError("socket") }
        _ = linux_set_reuse_address(descriptor)
        if isVersion6 { _ = linux_set_only_version6(descriptor) }
        guard withAddress({ bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, SOMAXCONN) == 0 else {
            let error = SystemError("bind")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Passes the address in the form of the kernel.
    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
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
