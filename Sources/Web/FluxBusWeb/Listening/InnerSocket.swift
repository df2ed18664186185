import BusSystem
import CLinux
import Glibc
import Synchronization

/// The socket between the front and the HTTP server, in a directory that only this user can enter. Both have names only until
/// the server listens: then the socket is known by a descriptor, and a crash leaves nothing behind.
final class InnerSocket: Sendable {
    private let directory: PrivateDirectory
    private let reference = Mutex<Int32>(-1)
    var path: String { "\(directory.path)/http" }

    init(in parent: String) throws(WebFailure) {
        do throws(SystemError) {
            directory = try PrivateDirectory(in: parent, prefix: "fluxbus-web")
        } catch {
            throw WebFailure(
                .system,
                "No directory can be made in \(parent) (\(error.reason)); name another one with XDG_RUNTIME_DIR."
            )
        }
        guard path.utf8.count <= UnixAddress.longestPath else {
            throw WebFailure(
                .configuration,
                "The path \(path) is too long for a socket; name a shorter directory with XDG_RUNTIME_DIR.")
        }
    }

    deinit { reference.withLock { if $0 >= 0 { close($0) } } }

    /// Takes the names away, and gives one that only this process has.
    func hide() throws(WebFailure) -> String {
        let descriptor = linux_refer(path)
        guard descriptor >= 0 else {
            throw WebFailure(.system, "The server's own socket is gone (\(systemReason())).")
        }
        reference.withLock { $0 = descriptor }
        directory.remove()
        return "/proc/self/fd/\(descriptor)"
    }

    /// Where it is made: what systemd gives a service, else the user's own, else the one for temporary files.
    static func parent(_ environment: [String: String]) -> String {
        if let given = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first { return String(given) }
        for name in ["XDG_RUNTIME_DIR", "TMPDIR"] {
            if let path = environment[name], path.hasPrefix("/"), access(path, W_OK) == 0 { return path }
        }
        return "/tmp"
    }
}
