import Glibc

/// A directory that only this user can enter. It goes when it is let go, with all that is in it, and with the process at the
/// latest.
package final class PrivateDirectory: Sendable {
    package let path: String

    /// - Parameter prefix: How its name begins; the rest is random.
    package init(in parent: String, prefix: String) throws(SystemError) {
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        // It gets the mode 0700.
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        Leftovers.add(path)
    }

    deinit { remove() }

    /// A parent for what holds sockets, whose paths hold 107 bytes: `$TMPDIR` if it is short, else `/tmp`. Nor may a path with
    /// a space stand in commands and variables that are lists of words.
    package static var shortParent: String {
        guard let wanted = getenv("TMPDIR").map({ String(cString: $0) }), wanted.hasPrefix("/"),
            wanted.utf8.count <= 60, !wanted.contains(where: \.isWhitespace)
        else { return "/tmp" }
        return wanted.hasSuffix("/") ? String(wanted.dropLast()) : wanted
    }

    /// Removes it before it is let go.
    package func remove() { Leftovers.remove(path) }

    /// Writes a file, whose name may begin with those of directories, and returns its path.
    @discardableResult
    package func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws(SystemError) -> String {
        for end in name.indices where name[end] == "/" { mkdir("\(path)/\(name[..<end])", 0o700) }
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw SystemError("open") }
        defer { close(descriptor) }
        // Whatever the mask of the process is.
        fchmod(descriptor, mode)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            rest = rest.dropFirst(count)
        }
        return file
    }
}
