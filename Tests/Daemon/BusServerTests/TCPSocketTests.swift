import BusSystem
import Glibc
import TestServer
import Testing

@Suite struct TCPSocketTests {
    private func option(_ level: Int32, _ name: Int32, of socket: Int32) -> Int32 {
        var (value, length) = (Int32(-1), socklen_t(4))
        getsockopt(socket, level, name, &value, &length)
        return value
    }

    /// A connection whose other end has vanished must not stay for ever.
    @Test func vanishedPeersAreFoundOut() throws {
        let socket = try Sockets.listen(at: "tcp:127.0.0.1:0")
        defer { close(socket) }
        TCPSocket.prepare(socket)
        let tcp = Int32(IPPROTO_TCP)
        #expect(option(SOL_SOCKET, SO_KEEPALIVE, of: socket) == 1)
        #expect(option(tcp, TCP_NODELAY, of: socket) == 1)
        let idle = option(tcp, TCP_KEEPIDLE, of: socket)
        let asking = option(tcp, TCP_KEEPINTVL, of: socket) * option(tcp, TCP_KEEPCNT, of: socket)
        #expect(idle > 0 && asking > 0 && idle + asking <= 120)
    }
}
