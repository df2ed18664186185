import CLinux
import Foundation
import Glibc
import TestServer

/// A browser by hand: bytes over a socket. It gives up after twenty seconds without any.
final class WebClient {
    struct Answer {
        let status: Int
        /// By names in small letters.
        let fields: [String: String]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let descriptor: Int32
    private let host: String
    private var isOpen = true
    private var received: [UInt8] = []
    /// How much of it was taken.
    private var taken = 0

    init(_ address: String, host: String) throws {
        self.host = host
        descriptor = try Sockets.connect(to: address)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    /// The other side hears of the end at once, whatever it has not read.
    func reset() {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Keeps the kernel from taking much for it.
    func narrow() {
        var size: Int32 = 65_536
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
    }

    // MARK: - Bytes

    /// False when the connection is lost.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, linux_no_signal)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Takes so many bytes; throws when the connection ends before.
    func take(_ count: Int) throws -> [UInt8] {
        while received.count - taken < count {
            guard try receive() else { throw Sockets.Failure("The connection ended.") }
        }
        defer {
            taken += count
            if taken == received.count { (received, taken) = ([], 0) }
        }
        return Array(received[taken..<(taken + count)])
    }

    /// Takes a line, without its end.
    func line() throws -> String {
        var line: [UInt8] = []
        while !line.suffix(2).elementsEqual("\r\n".utf8) { line += try take(1) }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }

    /// Everything up to the end.
    func rest() throws -> [UInt8] {
        while try receive() {}
        defer { (received, taken) = ([], 0) }
        return Array(received[taken...])
    }

    /// False at the end of the connection, also where it was reset.
    private func receive() throws -> Bool {
        var space = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &space, space.count, 0)
        if count < 0, errno == EINTR { return true }
        if count < 0, errno == ECONNRESET { return false }
        guard count >= 0 else { throw Sockets.Failure("recv: \(String(cString: strerror(errno)))") }
        received += space[..<count]
        return count > 0
    }

    // MARK: - HTTP

    func ask(
        _ method: String, _ path: String, _ fields: [String: String] = [:], body: String = ""
    ) throws -> Answer {
        send(request(method, path, fields, body: body))
        return try answer(hasBody: method != "HEAD")
    }

    func request(
        _ method: String, _ path: String, _ fields: [String: String] = [:], body: String = ""
    ) -> String {
        var all = ["Host": host]
        if !body.isEmpty { all["Content-Length"] = String(body.utf8.count) }
        all.merge(fields) { _, new in new }
        return "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body
    }

    static let handshake = [
        "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
    ]

    /// Asks for a WebSocket as our own page does.
    func upgrade(_ fields: [String: String] = [:]) throws -> Answer {
        var all = Self.handshake
        all["Origin"] = "http://\(host)"
        all.merge(fields) { _, new in new }
        return try ask("GET", "/bus", all)
    }

    func answer(hasBody: Bool = true) throws -> Answer {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try take(1) }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        guard let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") else {
            throw Sockets.Failure("This is no answer: \(lines[0])")
        }
        let length = hasBody && status != 304 ? Int(fields["content-length"] ?? "0") ?? 0 : 0
        return Answer(status: status, fields: fields, body: try take(length))
    }
}
