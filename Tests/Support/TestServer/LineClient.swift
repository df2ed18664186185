import CLinux
import Glibc

/// A client as simple as `nc`: it sends lines and waits for lines, and gives up after a minute without any, which is
/// more than a busy machine needs, if nothing else is said.
package final class LineClient {
    package typealias Failure = Sockets.Failure

    private let patience: Int
    private let stream: LineStream
    private let isResetAnEnd: Bool

    /// - Parameters:
    ///   - address: `unix:/path` or `tcp:127.0.0.1:port`, as a bus tells its addresses.
    ///   - isResetAnEnd: A reset counts as an end: the other side may be killed with bytes unread.
    ///   - patience: It gives up after so many seconds in which nothing comes.
    package init(_ address: String, isResetAnEnd: Bool = false, patience: Int = 60) throws {
        self.patience = patience
        stream = LineStream(try Sockets.connect(to: address))
        stream.limitWaiting(toSeconds: patience)
        self.isResetAnEnd = isResetAnEnd
    }

    /// For calls that no client needs, and for those who wait for many at once.
    package var descriptor: Int32 { stream.descriptor }

    // MARK: Sending

    package func send(_ line: String) throws { try send(bytes: line + "\n") }

    /// Sends these bytes, which may be several lines or a part of one.
    package func send(bytes: String) throws {
        guard stream.send(bytes) else { throw Failure("send: \(String(cString: strerror(errno)))") }
    }

    /// Finishes sending but still reads.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends the connection as a process does that goes.
    package func close() { stream.close() }

    // MARK: Receiving

    /// What comes next, whatever it is.
    package func receive() -> Reception { stream.receive() }

    /// The next line; nil at the end of the connection.
    package func line() throws -> String? {
        switch receive() {
        case .line(let line): return line
        case .end: return nil
        case .nothing: throw Failure("No line came within \(patience) seconds.")
        case .broken(ECONNRESET) where isResetAnEnd: return nil
        case .broken(let code): throw Failure("recv: \(String(cString: strerror(code)))")
        }
    }

    /// The rest of the lines, up to the end of the connection.
    package func rest() throws -> [String] {
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }

    /// Sends a request and gives the next line, which is its reply where no events come.
    package func ask(_ request: String) throws -> String {
        try send(request)
        guard let reply = try line() else { throw Failure("The connection ended at \(request).") }
        return reply
    }

    /// Sends a request and gives its reply; events before it are passed over.
    package func reply(to request: String) throws -> String {
        var line = try ask(request)
        while line.hasPrefix(#"{"event":"#) {
            guard let next = try self.line() else { throw Failure("The connection ended at \(request).") }
            line = next
        }
        return line
    }

    /// Reads at most so many bytes, which `line` gives later; false at the end of the connection.
    package func read(_ most: Int) throws -> Bool {
        switch stream.read(most) {
        case .broken(let code): throw Failure("recv: \(String(cString: strerror(code)))")
        case .nothing: throw Failure("Nothing came within \(patience) seconds.")
        case .end: return false
        case .line, nil: return true
        }
    }

    /// The lines that are there, without waiting for any; nil when the connection is over.
    package func linesThatCame() -> [String]? {
        switch stream.read(65_536, flags: linux_dont_wait) {
        case .end, .broken: return nil
        case .line, .nothing, nil: break
        }
        var lines: [String] = []
        while let line = stream.takeLine() { lines.append(line) }
        return lines
    }
}
