import Glibc
import TestFiles
import TestServer

/// A directory like `$XDG_RUNTIME_DIR`, with a bus's socket file in it; removed at the end.
final class SessionDirectory {
    private let directory = TemporaryDirectory()
    var path: String { directory.path }
    private let descriptor: Int32

    init() throws {
        mkdir(directory.path + "/fluxbus", 0o700)
        descriptor = try Sockets.bind(to: "unix:\(directory.path)/fluxbus/bus.sock")
    }

    deinit { close(descriptor) }
}
