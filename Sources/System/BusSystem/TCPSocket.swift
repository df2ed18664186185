import CLinux
import Glibc

/// What a connection over TCP needs at either end.
package enum TCPSocket {
    /// What is written is sent at once, and that the other end has vanished without a word is found out within two minutes.
    package static func prepare(_ connection: Int32) {
        _ = linux_set_nodelay(connection)
        for (option, value) in [(TCP_KEEPIDLE, 60), (TCP_KEEPINTVL, 15), (TCP_KEEPCNT, 4)] {
            var value = Int32(value)
            setsockopt(connection, Int32(IPPROTO_TCP), option, &value, 4)
        }
        var on: Int32 = 1
        setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, 4)
    }
}
