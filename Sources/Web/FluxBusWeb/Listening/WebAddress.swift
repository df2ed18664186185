import BusSystem
import CLinux

/// Where the web server listens: `127.0.0.1:7480`, `[::1]:7480`, `localhost:7480`, `unix:/path`, or `systemd:NAME` for the
/// sockets that systemd passes under that name. Hosts are addresses: who may reach the server must not depend on a name
/// server.
package enum WebAddress: Equatable, Sendable {
    /// Port 0 lets the system choose one.
    case internet(InternetAddress)
    case unix(path: String)
    case systemd(name: String)

    package init(parsing text: String) throws(WebFailure) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/"), path.utf8.count <= linux_unix_path_limit else {
                throw WebFailure(
                    .configuration,
                    "`\(text)` is not the path of a socket; write unix: and an absolute path of at most "
                        + "\(linux_unix_path_limit) bytes.")
            }
            self = .unix(path: path)
        } else if text.hasPrefix("systemd:"), text.utf8.count > 8 {
            self = .systemd(name: String(text.dropFirst(8)))
        } else if let address = InternetAddress(parsing: text) {
            self = .internet(address)
        } else {
            throw WebFailure(
                .configuration,
                "`\(text)` is not an address to listen on; write 127.0.0.1:7480, [::1]:7480, unix:/path or systemd:NAME, "
                    + "with an address of this machine instead of a name.")
        }
    }
}
