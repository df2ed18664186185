import CLinux
import FlyingSocks
import Glibc

/// The Unix socket of the HTTP server, as its library wants addresses.
struct ServerAddress: SocketAddress {
    static let family = sa_family_t(AF_UNIX)

    let path: String

    func withSockAddr<Result, Failure: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var address = sockaddr_un()
        let length = linux_unix_address(path, &address)
        return try withUnsafeBytes(of: &address) { (bytes) throws(Failure) -> Result in
            guard let base = bytes.baseAddress else { preconditionFailure("A socket's address has bytes.") }
            return try body(base.assumingMemoryBound(to: sockaddr.self), length)
        }
    }
}
