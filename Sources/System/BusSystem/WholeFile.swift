import Glibc

/// Reads files as a whole. Devices and sockets are not read, and pipes only for who wants to: they would make us wait, perhaps
/// for ever.
package enum WholeFile {
    /// Why a file is not read.
    package enum Refusal: Error {
        /// The kernel refused `open` or `read`.
        case failed(SystemError)
        case notRegular
        /// It has more bytes than the limit.
        case tooLarge
        /// In the words of who asked for the file.
        case refused(String)
    }

    /// - Parameters:
    ///   - limit: The most bytes that it may have.
    ///   - pipes: Whether a pipe is read, too, and waited for: for people who write `<(command)`.
    ///   - accept: Says why not to read a file of this status.
    package static func read(
        _ path: String, limit: Int, pipes: Bool = false, accept: (stat) -> String? = { _ in nil }
    ) throws(Refusal) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (pipes ? 0 : O_NONBLOCK))
        // A socket can't be opened at all.
        if descriptor < 0, errno == ENXIO { throw .notRegular }
        guard descriptor >= 0 else { throw .failed(SystemError("open")) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .failed(SystemError("fstat")) }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || pipes && kind == S_IFIFO else { throw .notRegular }
        if let reason = accept(status) { throw .refused(reason) }
        // What the kernel writes itself, such as files of /proc, has no size.
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .failed(SystemError("read")) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }
}
