import TestFiles

#if canImport(Glibc)
    import Glibc
#endif

/// A directory like `$XDG_RUNTIME_DIR`, with a bus's socket file in it; removed at the end.
final class SessionDirectory {
    private let directory = TemporaryDirectory()
    var path: String { directory.path }
    private let descriptor: Int32

    init() throws {
        let path = directory.path
        mkdir(path + "/fluxbus", 0o700)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let socketPath = path + "/fluxbus/bus.sock"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw ScriptedBus.SetupFailure(reason: String(cString: strerror(errno))) }
    }

    deinit { close(descriptor) }
}
