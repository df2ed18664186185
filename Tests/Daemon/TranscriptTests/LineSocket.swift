import Glibc

/// A client's end of a socket: lines out, lines in, and a deadline for everything.
final class LineSocket {
    struct Failure: Error, CustomStringConvertible { let description: String }

    /// How long anybody waits for a line that has to come: more than a busy machine ever needs.
    private static let seconds = 20

    private let descriptor: Int32
    private var received: [UInt8] = []
    private var hasEnded = false

    /// `unix:/path` or `tcp:127.0.0.1:port`, as a bus tells its addresses.
    init(_ address: String) throws {
        if address.hasPrefix("unix:") {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var place = sockaddr_un()
            place.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: address.utf8.dropFirst(5)) }
            try connect(&place)
        } else {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw Failure(description: "\(address) has no port.")
            }
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            try connect(&place)
        }
        var patience = timeval(tv_sec: Self.seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    }

    deinit { close(descriptor) }

    private func connect<Place>(_ place: inout Place) throws {
        let length = socklen_t(MemoryLayout<Place>.size)
        let result = withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, length)
            }
        }
        guard result == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
    }

    func send(_ line: String) throws {
        var bytes = (Array(line.utf8) + [10])[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
            bytes = bytes.dropFirst(count)
        }
    }

    func receive() -> Reception {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = received.firstIndex(of: 10) {
                defer { received.removeSubrange(...end) }
                return .line(String(decoding: received[..<end], as: UTF8.self))
            }
            if hasEnded { return .end }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno == EAGAIN ? .nothing : .end }
            if count == 0 { hasEnded = true }
            received += buffer[..<count]
        }
    }
}
