import Glibc

/// A file that is read as a whole: a certificate, a key, a token.
enum SmallFile {
    private static let longest = 1 << 20

    /// - Parameter isSecret: Refuses a file that everybody can read.
    static func read(_ path: String, isSecret: Bool = false) throws(WebFailure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw WebFailure(.configuration, "\(path) can't be read (\(WebFailure.reason())).")
        }
        defer { close(descriptor) }
        var status = stat()
        if isSecret, fstat(descriptor, &status) == 0, status.st_mode & 0o007 != 0 {
            throw WebFailure(
                .configuration,
                "Everybody can read \(path), which is a secret; run chmod o= on it.")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= longest {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw WebFailure(.configuration, "\(path) can't be read (\(WebFailure.reason())).")
            }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
        throw WebFailure(.configuration, "\(path) is too long for such a file; give another one.")
    }

    /// The first line of a file that holds a secret.
    static func token(_ path: String) throws(WebFailure) -> String {
        let bytes = try read(path, isSecret: true)
        let line = bytes.prefix { $0 != 0x0a && $0 != 0x0d }
        guard !line.isEmpty, line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw WebFailure(
                .configuration,
                "\(path) holds no token; write one on its first line, in letters, digits and signs without spaces."
            )
        }
        return String(decoding: line, as: UTF8.self)
    }
}
