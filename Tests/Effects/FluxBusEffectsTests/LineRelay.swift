import Foundation
import TestFiles
import TestServer

/// Stands between a client and a server, and shows a test each line that the client sends: the test may hold it up, or put
/// another one in its place.
final class LineRelay: Sendable {
    private let directory = TemporaryDirectory()
    private let listener: Int32

    var address: String { "unix:\(directory.path)/r" }

    /// - Parameter pass: Gives the line to send to the server for one of the client. Lines behind it wait until it returns.
    init(to target: String, _ pass: @escaping @Sendable (String) -> String) throws {
        listener = try Sockets.listen(at: "unix:\(directory.path)/r")
        Thread.detachNewThread { [listener] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                // The server may be down.
                if let server = try? LineClient(target, isResetAnEnd: true, patience: 600) {
                    Self.join(client, server, pass)
                } else {
                    close(client)
                }
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func join(
        _ client: Int32, _ server: LineClient, _ pass: @escaping @Sendable (String) -> String
    ) {
        // Each thread reads from one of them and writes to the other.
        nonisolated(unsafe) let server = server
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while let line = try? server.line(), Sockets.write(Array((line + "\n").utf8), to: client) {}
            shutdown(client, Int32(SHUT_RDWR))
            hasEnded.signal()
        }
        Thread.detachNewThread {
            let input = fdopen(client, "r")
            var (line, room): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
            while let input, case let count = getline(&line, &room, input), count > 0, let line {
                let bytes = UnsafeRawBufferPointer(start: line, count: count - 1)
                guard (try? server.send(pass(String(decoding: bytes, as: UTF8.self)))) != nil else { break }
            }
            free(line)
            server.finishSending()
            hasEnded.wait()
            if let input { fclose(input) }
        }
    }
}
