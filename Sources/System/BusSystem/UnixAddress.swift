import CLinux
import Glibc

/// The address of a Unix socket.
package struct UnixAddress {
    /// The most bytes that a path may have.
    package static let longestPath = Int(linux_unix_path_limit)

    private let address: sockaddr_un
    private let length: socklen_t
    private let path: String

    /// An address with this path. If the path is too long, `connect` and `bind` fail.
    package init(_ path: String) {
        var address = sockaddr_un()
        length = linux_unix_address(path, &address)
        self.address = address
        self.path = path
    }

    package func withAddress<Result, Failure: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(of: address) { (bytes) throws(Failure) -> Result in
            guard let base = bytes.baseAddress else { preconditionFailure("A socket's address has bytes.") }
            return try body(base.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// Returns 0, or -1 with the reason in `errno`.
    package func connect(_ descriptor: Int32) -> Int32 { withAddress { Glibc.connect(descriptor, $0, $1) } }
    package func bind(_ descriptor: Int32) -> Int32 { withAddress { Glibc.bind(descriptor, $0, $1) } }

    /// What already exists at the path of a socket that is to be opened.
    package enum Occupant {
        case nothing
        /// A socket on which a program answers.
        case live
        /// A socket whose program is gone.
        case stale
        /// Anything else: a file, a directory, a link.
        case other
        case unknown(SystemError)
    }

    package func occupant() -> Occupant {
        var status = stat()
        guard lstat(path, &status) == 0 else { return .nothing }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return .other }
        let probe = linux_stream_socket(AF_UNIX, 1)
        guard probe >= 0 else { return .unknown(SystemError("socket")) }
        defer { close(probe) }
        let result = connect(probe)
        let error = SystemError("connect")
        if result == 0 || error.code == EAGAIN { return .live }
        return error.code == ECONNREFUSED || error.code == ENOENT ? .stale : .unknown(error)
    }
}
