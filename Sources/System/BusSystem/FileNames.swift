import Glibc

/// The names of files in their directories.
package enum FileNames {
    /// The directory of a file, by its path.
    package static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Has the names in the directory of a file outlive a power failure. `open` fails where the directory can't be read.
    package static func sync(_ path: String) throws(SystemError) {
        let descriptor = open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SystemError("fsync") }
    }
}
