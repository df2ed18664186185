import CLinux
import Glibc
import Synchronization

/// A directory that only this user can enter, for the socket between the front and the HTTP server. It is there only until
/// the server listens: then the socket is known by a descriptor, and a crash leaves nothing behind.
final class PrivateDirectory: Sendable {
    private let path: String
    private let reference = Mutex<Int32>(-1)
    var socket: String { "\(path)/http" }

    init(in parent: String) throws(WebFailure) {
        var template = Array("\(parent)/fluxbus-web-XXXXXX".utf8CString)
        // mkdtemp gives it the mode 0700.
        guard mkdtemp(&template) != nil else {
            throw WebFailure(
                .system,
                "No directory can be made in \(parent) (\(WebFailure.reason())); name another one with XDG_RUNTIME_DIR."
            )
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard socket.utf8.count <= linux_unix_path_limit else {
            rmdir(path)
            throw WebFailure(
                .configuration,
                "The path \(socket) is too long for a socket; name a shorter directory with XDG_RUNTIME_DIR.")
        }
    }

    deinit {
        remove()
        reference.withLock { if $0 >= 0 { close($0) } }
    }

    /// Takes the names away, and gives one that only this process has.
    func hide() throws(WebFailure) -> String {
        let descriptor = linux_refer(socket)
        guard descriptor >= 0 else {
            throw WebFailure(.system, "The server's own socket is gone (\(WebFailure.reason())).")
        }
        reference.withLock { $0 = descriptor }
        remove()
        return "/proc/self/fd/\(descriptor)"
    }

    private func remove() {
        unlink(socket)
        rmdir(path)
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
