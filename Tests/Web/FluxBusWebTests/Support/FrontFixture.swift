import FluxBusWeb
import Foundation
import Glibc
import Systemd
import TestFiles
import TestServer

/// A front with a server behind it that a test plays itself, and a clock that the test sets.
final class FrontFixture {
    let directory = TemporaryDirectory()
    let clock = ManualClock()
    let idle = WebFixture.IdleCount()
    private let front: Front
    private let server: Int32
    let address: String

    init(
        idleExit: Duration? = nil, certificate: CertificateFiles? = nil,
        _ change: (inout FrontLimits) -> Void = { _ in }
    ) throws {
        server = try Sockets.listen(at: "unix:\(directory.path)/server")
        // Nobody waits for ever for a connection that the front does not open.
        Served.limitWaiting(of: server)
        var passed = ListenDescriptors([])
        let listeners = try WebListener.open(
            WebAddress(parsing: "127.0.0.1:0"), isSecure: certificate != nil, &passed)
        address = "tcp:\(listeners[0].internet?.text ?? "")"
        var limits = FrontLimits()
        change(&limits)
        front = try Front(
            listeners, to: "\(directory.path)/server", limits, FrontAnswers(fields: []),
            context: certificate.map { try $0.context() },
            idleExit: idleExit, now: { [clock] in clock.nanoseconds }, whenIdle: { [idle] in idle.add() })
        front.start()
    }

    deinit {
        front.stop(within: .zero)
        close(server)
    }

    func client() throws -> WebClient { try WebClient(address, host: "localhost") }

    /// The next connection that the front opens to the server.
    func accept() throws -> Served { try Served(Glibc.accept(server, nil, nil)) }

    func clockMoved(by time: Duration) {
        clock.advance(by: time)
        front.wake()
    }

    /// Has it stop, and returns once it listens no more. Connections have as long as they need.
    func beginStop() {
        Thread.detachNewThread { [front] in front.stop(within: .seconds(3600)) }
        while (try? client()) != nil {}
    }

    /// A connection of the front, as the server sees it.
    final class Served {
        private let descriptor: Int32

        fileprivate init(_ descriptor: Int32) throws {
            guard descriptor >= 0 else {
                throw Sockets.Failure("accept: \(String(cString: strerror(errno)))")
            }
            self.descriptor = descriptor
            Self.limitWaiting(of: descriptor)
        }

        fileprivate static func limitWaiting(of descriptor: Int32) {
            var patience = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        /// What has come until this text ends it, without the client's address, whose port is another each time; all up to the
        /// end of the connection, if it does not come.
        func take(upTo end: String) -> String {
            var bytes: [UInt8] = []
            var space = [UInt8](repeating: 0, count: 4096)
            while !String(decoding: bytes, as: UTF8.self).hasSuffix(end) {
                let count = recv(descriptor, &space, space.count, 0)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                bytes += space[..<count]
            }
            return String(decoding: bytes, as: UTF8.self)
                .replacing(/x-client-address: 127\.0\.0\.1:[0-9]+\r\n/, with: "")
        }

        /// Whether the front closes it, and does not only stop sending.
        func isClosed() -> Bool {
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            return poll(&entry, 1, 20_000) == 1 && Int32(entry.revents) & POLLHUP != 0
        }

        func send(_ text: String) {
            var text = text
            text.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}
