import CLinux
import Foundation

/// A client as simple as `nc`: a blocking socket that gives up after ten seconds.
final class Client {
    struct Failure: Error, CustomStringConvertible { let description: String }

    let descriptor: Int32
    private var received: [UInt8] = []
    private var isClosed = false

    /// `unix:/path` or `tcp:127.0.0.1:port`
    init(_ address: String) throws {
        if address.hasPrefix("unix:") {
            descriptor = linux_stream_socket(AF_UNIX, 0)
            var socketAddress = sockaddr_un()
            let length = linux_unix_address(String(address.dropFirst(5)), &socketAddress)
            try Self.connect(descriptor, &socketAddress, length, address)
        } else {
            descriptor = linux_stream_socket(AF_INET, 0)
            var socketAddress = sockaddr_in()
            socketAddress.sin_family = sa_family_t(AF_INET)
            socketAddress.sin_port = UInt16(address.split(separator: ":").last ?? "")!.bigEndian
            socketAddress.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            try Self.connect(descriptor, &socketAddress, socklen_t(MemoryLayout<sockaddr_in>.size), address)
        }
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    private static func connect<Address>(
        _ descriptor: Int32, _ address: inout Address, _ length: socklen_t, _ name: String
    ) throws {
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) }
        }
        guard result == 0 else {
            // The descriptor is closed by `deinit`, which also runs after an `init` that throws here.
            throw Failure(description: "connect to \(name): \(String(cString: strerror(errno)))")
        }
    }

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, linux_no_signal)
            }
            guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// The next line without its end; nil at the end of input.
    func line() throws -> String? {
        while true {
            if let end = received.firstIndex(of: 10) {
                defer { received.removeSubrange(...end) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            guard try receive(65536) else { return nil }
        }
    }

    /// Reads a few bytes into the buffer; false at the end of input.
    func receive(_ most: Int) throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: most)
        let count = recv(descriptor, &buffer, most, 0)
        guard count >= 0 else { throw Failure(description: "recv: \(String(cString: strerror(errno)))") }
        received += buffer[..<count]
        return count > 0
    }

    /// The rest of the lines, up to the end of input.
    func rest() throws -> [String] {
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }

    func ask(_ request: String) throws -> String {
        try send(request + "\n")
        guard let reply = try line() else { throw Failure(description: "The connection ended.") }
        return reply
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func close() {
        if !isClosed { Glibc.close(descriptor) }
        isClosed = true
    }
}
