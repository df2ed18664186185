import CSystemd
import Glibc

/// The asking half of the probe: one line to a Unix socket, one line back. A unit runs it where the tests want to know
/// whom the other side takes it for.
enum ProbeClient {
    struct Failure: Error, CustomStringConvertible { let description: String }

    static func ask(_ path: String, _ line: String) throws -> String {
        let descriptor = socket(AF_UNIX, Int32(systemd_stream), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        let request = Array((line + "\n").utf8)
        guard send(descriptor, request, request.count, systemd_no_signal) == request.count else {
            throw Failure(description: "send: \(String(cString: strerror(errno)))")
        }
        var reply: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { reply.append(byte) }
        return String(decoding: reply, as: UTF8.self)
    }
}
