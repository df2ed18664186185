import BusTLS
import CLinux
import Foundation

/// A client as simple as `LineClient`, through TLS. It gives up after a minute without a byte.
package final class SecureClient {
    private static let patience = 60
    private let session: TLSSession
    /// For calls that no client needs.
    package let descriptor: Int32
    private var isClosed = false
    private var received: [UInt8] = []
    private var hasEnded = false

    /// - Parameters:
    ///   - address: `tls:127.0.0.1:port`, as a bus tells its addresses.
    ///   - authority: The file of who issues the server's certificate.
    ///   - files: The client's certificate and key.
    package init(
        _ address: String, trusting authority: String, _ files: (certificate: String, key: String)? = nil
    ) throws {
        let context = try TLSContext(
            clientTrusting: TLSCertificate.all(inPEM: Self.read(authority)),
            chain: files.map { try TLSCertificate.all(inPEM: Self.read($0.certificate)) } ?? [],
            files.map { try TLSKey(inPEM: Self.read($0.key)) })
        session = TLSSession(context, as: .client(host: "localhost"))
        descriptor = try Sockets.connect(to: address)
        var patience = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    package func close() {
        if !isClosed { Glibc.close(descriptor) }
        isClosed = true
    }

    private static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Completes the handshake.
    @discardableResult
    package func shakeHands() throws -> SecureClient {
        while try !session.shakeHands() {
            try flush()
            guard try receive() else { throw Sockets.Failure("The connection ended in the handshake.") }
        }
        try flush()
        return self
    }

    /// Begins the handshake and no more.
    package func sayClientHello() throws {
        _ = try session.shakeHands()
        try flush()
    }

    package func send(_ line: String) throws { try send(bytes: line + "\n") }

    package func send(bytes: String) throws {
        try Array(bytes.utf8).withUnsafeBytes { try session.write($0) }
        try flush()
    }

    /// Finishes sending but still reads.
    package func finishSending() throws {
        session.finish()
        try flush()
    }

    package func ask(_ line: String) throws -> String {
        try send(line)
        guard let reply = try self.line() else { throw Sockets.Failure("The connection ended at \(line).") }
        return reply
    }

    /// The next line; nil at the end of the connection.
    package func line() throws -> String? {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...end) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            if hasEnded { return nil }
            try decrypt()
        }
    }

    /// The rest of the lines, up to the end of the connection.
    package func rest() throws -> [String] {
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }

    private func decrypt() throws {
        var space = [UInt8](repeating: 0, count: TLSSession.record)
        switch try space.withUnsafeMutableBytes({ try session.read(into: $0) }) {
        case .bytes(let count): received += space[..<count]
        case .end: hasEnded = true
        case .nothingYet: if try !receive() { hasEnded = true }
        }
    }

    /// False at the end of the connection.
    private func receive() throws -> Bool {
        var space = [UInt8](repeating: 0, count: 65_536)
        var count = recv(descriptor, &space, space.count, 0)
        while count < 0, errno == EINTR { count = recv(descriptor, &space, space.count, 0) }
        if count < 0, errno == ECONNRESET { return false }
        guard count >= 0 else { throw Sockets.Failure("recv: \(String(cString: strerror(errno)))") }
        space.withUnsafeBytes { session.receive(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        return count > 0
    }

    private func flush() throws {
        while session.hasOutput {
            let count = Glibc.send(
                descriptor, session.output.baseAddress, session.output.count, linux_no_signal)
            guard count > 0 else { throw Sockets.Failure("send: \(String(cString: strerror(errno)))") }
            session.sent(count)
        }
    }
}
