import BusSystem
import Glibc

/// The key that signs sessions, in a file that only its user can read: sessions outlive the process.
package struct SessionKey {
    package let bytes: [UInt8]
    package static let length = 32
    package static let fileName = "web-session.key"

    /// Reads the key, or makes one where there is none.
    package init(in directory: String) throws(WebFailure) {
        let path = "\(directory)/\(Self.fileName)"
        try Self.makeDirectory(directory)
        if let bytes = try Self.read(path) {
            self.bytes = bytes
            return
        }
        try Self.write(Secret.random(count: Self.length), to: path)
        // Another one that starts at the same time may have been first.
        guard let bytes = try Self.read(path) else { throw Self.failure(path, ENOENT) }
        self.bytes = bytes
    }

    /// A new key in the place of the old one: no session goes on.
    package static func replace(in directory: String) throws(WebFailure) -> SessionKey {
        let path = "\(directory)/\(fileName)"
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, errno) }
        return try SessionKey(in: directory)
    }

    /// Where it is kept: `$STATE_DIRECTORY`, else in the user's folder for states; nil where there is neither.
    package static func directory(_ environment: [String: String]) -> String? {
        // systemd names several, divided by colons.
        if let state = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(state) }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/fluxbus" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.local/state/fluxbus"
    }

    private static func makeDirectory(_ path: String) throws(WebFailure) {
        var partial = ""
        for name in path.split(separator: "/") {
            partial += "/\(name)"
            if mkdir(partial, 0o700) == 0 || errno == EEXIST || access(partial, F_OK) == 0 { continue }
            throw WebFailure(
                .configuration,
                "The folder \(partial) can't be made (\(systemReason())); name another with STATE_DIRECTORY or "
                    + "XDG_STATE_HOME.")
        }
    }

    /// Nil where there is none.
    private static func read(_ path: String) throws(WebFailure) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path, errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else {
            throw WebFailure(
                .configuration,
                "Other users can read or replace \(path); remove it, and a new one is made.")
        }
        var bytes = [UInt8](repeating: 0, count: length + 1)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count == length else {
            throw WebFailure(.configuration, "\(path) holds no key; remove it, and a new one is made.")
        }
        return Array(bytes[..<length])
    }

    /// Whole or not at all: by another name first. One that is there by now stays.
    private static func write(_ bytes: [UInt8], to path: String) throws(WebFailure) {
        let new = "\(path).\(getpid()).new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(new, errno) }
        defer {
            close(descriptor)
            unlink(new)
        }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0,
            link(new, path) == 0 || errno == EEXIST
        else { throw failure(path, errno) }
    }

    private static func failure(_ path: String, _ code: Int32) -> WebFailure {
        WebFailure(
            .configuration,
            "The key that signs sessions, \(path), can't be read or made (\(systemReason(code))); give the folder to "
                + "this user, or name another with STATE_DIRECTORY or XDG_STATE_HOME.")
    }
}
