import CLinux
import Glibc

/// A directory that only this user can enter, for the socket between the front and the HTTP server. It goes with the server.
final class PrivateDirectory: Sendable {
    let path: String
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

    deinit { remove() }

    func remove() {
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
