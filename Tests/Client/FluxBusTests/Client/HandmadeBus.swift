import BusJSON
import CLinux
import FluxBus
import Foundation
import TestFiles

/// A bus whose every line is written by the test: a listening socket, served by the test itself.
///
/// A blocking read belongs on a thread of its own, so the test's side runs as `serve` on one.
final class HandmadeBus: Sendable {
    /// One accepted connection.
    final class Peer {
        private var descriptor: Int32
        private var bytes: [UInt8] = []

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close() }

        /// Ends the connection.
        func close() {
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }

        /// The next line; nil at the end.
        func line() -> String? {
            while true {
                if let end = bytes.firstIndex(of: 10) {
                    defer { bytes.removeSubrange(...end) }
                    return String(decoding: bytes[..<end], as: UTF8.self)
                }
                var space = [UInt8](repeating: 0, count: 65_536)
                let count = recv(descriptor, &space, space.count, 0)
                guard count > 0 else { return nil }
                bytes += space[..<count]
            }
        }

        func send(_ text: String) {
            let line = Array((text + "\n").utf8)
            _ = line.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, linux_no_signal) }
        }

        /// Answers the `hello`, which comes first.
        func greet(epoch: String = "e1", revision: Int = 0) {
            let hello = line().flatMap { try? JSON(parsing: $0) }
            let id = hello?["id"]?.int ?? 0
            send(
                #"{"id":\#(id),"ok":true,"protocol":1,"server":"test","version":"1","epoch":"\#(epoch)","revision":\#(revision),"identity":{},"limits":{"line":1048576}}"#
            )
        }
    }

    let address: BusAddress
    private let listener: Int32
    private let directory = TemporaryDirectory()

    init(serve: @escaping @Sendable (HandmadeBus) -> Void) {
        let path = "\(directory.path)/s"
        address = .unix(path: path)
        listener = linux_stream_socket(AF_UNIX, 0)
        var address = sockaddr_un()
        let length = linux_unix_address(path, &address)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        precondition(bound == 0 && listen(listener, 8) == 0, "A test can't listen at \(path).")
        Thread.detachNewThread { [self] in
            serve(self)
            close(listener)
        }
    }

    /// The next connection.
    func accept() -> Peer { Peer(Glibc.accept(listener, nil, nil)) }
}
