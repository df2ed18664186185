import FluxBus

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The source of the secret for a bus on TCP: a file, else `$FLUXBUS_TOKEN`. It is never on a command line, where every
/// user of the machine could read it.
package struct TokenSource {
    let file: String?
    let environment: [String: String]

    /// The token; nil when none is given.
    func token() throws -> String? {
        guard let file else {
            return environment["FLUXBUS_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let descriptor = FileReader.open(file) else {
            throw CommandFailure(
                .usage,
                "The token file \(file) can't be read (\(String(cString: strerror(errno)))): check its path and mode."
            )
        }
        defer { close(descriptor) }
        let text = String(
            decoding: try FileReader.readAll(descriptor, limit: 65536, name: file), as: UTF8.self)
        guard let token = Self.token(in: text) else {
            throw CommandFailure(.usage, "The token file \(file) holds no token: write it on the first line.")
        }
        return token
    }

    /// The token of the first line that is neither empty nor a comment: alone, or after a name
    /// as in the daemon's own file.
    package static func token(in text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let last = words.last, !line.hasPrefix("#") else { continue }
            return String(last)
        }
        return nil
    }
}
