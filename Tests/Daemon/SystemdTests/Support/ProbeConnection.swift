import CSystemd
import Glibc

/// A connection to a probe: one line out, one line back. It gives up after twenty seconds.
final class ProbeConnection {
    struct Failure: Error, CustomStringConvertible { let description: String }

    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(systemd_stream) | systemd_close_on_exec, 0)
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            throw Failure(description: "connect to \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    func send(_ line: String) throws { try send(bytes: line + "\n") }

    /// Sends these bytes, which may be a part of a line.
    func send(bytes text: String) throws {
        let bytes = Array(text.utf8)
        guard Glibc.send(descriptor, bytes, bytes.count, systemd_no_signal) == bytes.count else {
            throw Failure(description: "send: \(String(cString: strerror(errno)))")
        }
    }

    /// Ends the connection, as a process does that goes.
    func finish() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The next line; nil when the probe has ended.
    func line() throws -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            switch recv(descriptor, &byte, 1, 0) {
            case 1 where byte == UInt8(ascii: "\n"): return String(decoding: line, as: UTF8.self)
            case 1: line.append(byte)
            case 0: return nil
            case _ where errno == EINTR: continue
            case _ where errno == ECONNRESET: return nil
            default: throw Failure(description: "recv: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// Gives an order and returns the answer.
    @discardableResult
    func order(_ line: String) throws -> String {
        try send(line)
        guard let reply = try self.line() else { throw Failure(description: "The probe ended at \(line).") }
        guard !reply.hasPrefix("error ") else { throw Failure(description: "\(line): \(reply)") }
        return reply
    }
}
