import Glibc
import Synchronization
import TestFiles

/// A socket that listens for tests that write every line of a server themselves, on a thread of their own.
package final class LineListener: Sendable {
    package let address: String
    private let directory = TemporaryDirectory()
    /// Nil once it is closed.
    private let descriptor: Mutex<Int32?>

    package init(overTCP: Bool = false) throws {
        // Once it is closed, nobody else may be found there.
        address = overTCP ? "tcp:127.0.0.1:\(try FreePorts.take(1)[0])" : "unix:\(directory.path)/s"
        descriptor = Mutex(try Sockets.listen(at: address))
    }

    deinit { close() }

    /// Waits for the next connection; nil when the listening has ended.
    package func accept() -> LinePeer? {
        guard let listener = descriptor.withLock({ $0 }) else { return nil }
        let peer = Glibc.accept(listener, nil, nil)
        return peer < 0 ? nil : LinePeer(peer)
    }

    /// Takes no further connection. Whoever waits for one hears of it; anybody may say so.
    package func endListening() {
        descriptor.withLock { if let listener = $0 { _ = shutdown(listener, Int32(SHUT_RDWR)) } }
    }

    /// Closes the socket, with those that nobody accepted: for the thread that accepts.
    package func close() {
        descriptor.withLock {
            if let listener = $0 { _ = Glibc.close(listener) }
            $0 = nil
        }
    }
}

/// The server's end of a connection. It waits for lines as long as there is somebody who could send one.
package final class LinePeer {
    private let stream: LineStream

    init(_ descriptor: Int32) { stream = LineStream(descriptor) }

    /// The next line; nil at the end, whatever it is.
    package func line() -> String? {
        if case .line(let line) = stream.receive() { line } else { nil }
    }

    /// Sends a line; false when nobody is there any more.
    @discardableResult
    package func send(_ line: String) -> Bool { send(part: line + "\n") }

    /// Sends a part of a line; false when nobody is there any more.
    @discardableResult
    package func send(part: String) -> Bool { stream.send(part) }

    /// Ends the connection.
    package func close() { stream.close() }
}
