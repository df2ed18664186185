import BusSystem
import CLinux
import Glibc

/// Stream sockets for tests, by the addresses that a bus tells: `unix:/path` or `tcp:127.0.0.1:port`.
package enum Sockets {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }

        /// What the call that just failed says.
        init(call: String, _ address: String) {
            description = "\(call) \(address): \(String(cString: strerror(errno)))"
        }
    }

    /// A socket that is connected, or throws. One that does not block fails where the listener's queue is full.
    package static func connect(to address: String, isBlocking: Bool = true) throws -> Int32 {
        try open(address, isBlocking: isBlocking, "connect to") { Glibc.connect($0, $1, $2) }
    }

    /// A socket that has this address and does not listen.
    package static func bind(to address: String) throws -> Int32 {
        try open(address, "bind to") { Glibc.bind($0, $1, $2) }
    }

    /// A socket that listens. For port 0 the kernel chooses one: `port(of:)`.
    package static func listen(at address: String, backlog: Int32 = 64) throws -> Int32 {
        let descriptor = try bind(to: address)
        guard Glibc.listen(descriptor, backlog) == 0 else {
            defer { close(descriptor) }
            throw Failure(call: "listen at", address)
        }
        return descriptor
    }

    /// The port of a TCP socket.
    package static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Writes all of it; false if the other end is gone, which is no signal.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// A new socket of the address's family, on which the call succeeded.
    private static func open(
        _ address: String, isBlocking: Bool = true, _ name: String,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let (descriptor, result): (Int32, Int32)
        if address.hasPrefix("unix:") {
            descriptor = linux_stream_socket(AF_UNIX, isBlocking ? 0 : 1)
            result = UnixAddress(String(address.dropFirst(5))).withAddress { call(descriptor, $0, $1) }
        } else {
            guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw Failure("\(address) has no port.")
            }
            descriptor = linux_stream_socket(AF_INET, isBlocking ? 0 : 1)
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            result = withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard result == 0 else {
            defer { close(descriptor) }
            throw Failure(call: name, address)
        }
        return descriptor
    }
}
