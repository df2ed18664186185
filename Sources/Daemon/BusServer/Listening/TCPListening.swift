import BusSource
import BusSystem
import CLinux
import Glibc

/// Opens TCP sockets. The configuration decides which addresses are allowed.
enum TCPListening {
    /// - Parameter scheme: `tcp`, or `tls` for connections that begin with a handshake.
    static func open(
        _ scheme: String, _ host: InternetHost, port: UInt16, at place: Place
    ) throws(StartFailure) -> Listener {
        func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
            StartFailure(
                code, SourceError("\(scheme) \(host.text):\(port): \(message)", at: place).description)
        }
        let isVersion6 = if case .version6 = host { true } else { false }
        let descriptor = linux_stream_socket(isVersion6 ? AF_INET6 : AF_INET, 1)
        guard descriptor >= 0 else { throw failure(.system, SystemError("socket").reason + ".") }
        _ = linux_set_reuse_address(descriptor)
        if isVersion6 { _ = linux_set_only_version6(descriptor) }
        var address = storage(host, port: port)
        guard bind(descriptor, &address) == 0, listen(descriptor, SOMAXCONN) == 0 else {
            let error = SystemError("bind")
            SystemCall.close(descriptor)
            if error.code == EADDRINUSE {
                throw failure(
                    .inUse, "the port is in use; stop the program that listens there, or choose another.")
            }
            if error.code == EADDRNOTAVAIL {
                throw failure(
                    .configuration, "this machine does not have the address; listen on one that it has.")
            }
            throw failure(.system, "\(error.reason).")
        }
        let bound = boundAddress(of: descriptor) ?? "\(host.text):\(port)"
        return Listener(descriptor, address: "\(scheme):\(bound)")
    }

    /// `HOST:PORT` of a socket address; an IPv6 host is in brackets.
    static func text(of address: sockaddr_storage) -> String? {
        let family = Int32(address.ss_family)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        return withUnsafePointer(to: address) { pointer -> String? in
            switch family {
            case AF_INET:
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    var host = $0.pointee.sin_addr
                    inet_ntop(AF_INET, &host, &text, socklen_t(text.count))
                    return "\(string(text)):\(UInt16(bigEndian: $0.pointee.sin_port))"
                }
            case AF_INET6:
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    var host = $0.pointee.sin6_addr
                    inet_ntop(AF_INET6, &host, &text, socklen_t(text.count))
                    return "[\(string(text))]:\(UInt16(bigEndian: $0.pointee.sin6_port))"
                }
            default:
                return nil
            }
        }
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func storage(_ host: InternetHost, port: UInt16) -> sockaddr_storage {
        var storage = sockaddr_storage()
        withUnsafeMutablePointer(to: &storage) { pointer in
            switch host {
            case .version4(let address, _):
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    $0.pointee.sin_port = port.bigEndian
                    $0.pointee.sin_addr.s_addr = address
                }
            case .version6(let bytes, _):
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    $0.pointee.sin6_port = port.bigEndian
                    withUnsafeMutableBytes(of: &$0.pointee.sin6_addr) { $0.copyBytes(from: bytes) }
                }
            }
        }
        return storage
    }

    private static func bind(_ descriptor: Int32, _ address: inout sockaddr_storage) -> Int32 {
        let isVersion6 = Int32(address.ss_family) == AF_INET6
        let length = isVersion6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(length))
            }
        }
    }

    private static func boundAddress(of descriptor: Int32) -> String? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? text(of: address) : nil
    }
}

/// A numeric TCP address of this machine: it decides who reaches the bus, so it must not depend on a name server.
package enum InternetHost: Sendable, Equatable {
    /// In network order.
    case version4(UInt32, text: String)
    /// Its 16 bytes.
    case version6([UInt8], text: String)

    /// As people write it: `127.0.0.1`, `localhost`, `0.0.0.0`, `::1`, `[::]`; nil when it is no address.
    package init?(_ text: String) {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        let name = bare == "localhost" ? "127.0.0.1" : bare
        var version4 = in_addr()
        var version6 = in6_addr()
        if inet_pton(AF_INET, name, &version4) == 1 {
            self = .version4(version4.s_addr, text: name)
        } else if inet_pton(AF_INET6, name, &version6) == 1 {
            // One address has many forms; the comparison takes the kernel's.
            var form = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            inet_ntop(AF_INET6, &version6, &form, socklen_t(form.count))
            let text = String(decoding: form.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            self = .version6(withUnsafeBytes(of: &version6) { Array($0) }, text: text)
        } else {
            return nil
        }
    }

    /// Whether no other machine reaches it.
    package var isLoopback: Bool {
        switch self {
        case .version4(let address, _): UInt32(bigEndian: address) >> 24 == 127
        case .version6(let bytes, _): bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
        }
    }

    package var text: String {
        switch self {
        case .version4(_, let text): text
        case .version6(_, let text): "[\(text)]"
        }
    }
}
