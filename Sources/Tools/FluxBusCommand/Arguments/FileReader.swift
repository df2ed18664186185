#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads files and standard input whole, up to a limit.
enum FileReader {
    /// A descriptor for reading; nil and `errno` when there is none.
    static func open(_ path: String) -> Int32? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        return descriptor < 0 ? nil : descriptor
    }

    static func readAll(_ descriptor: Int32, limit: Int, name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try readSome(descriptor, name: name) {
            bytes += piece
            guard bytes.count <= limit else {
                throw CommandFailure(.refused, "There are more than \(limit) bytes in \(name): shorten it.")
            }
        }
        return bytes
    }

    /// Available bytes, at least one, awaited; nil at the end.
    static func readSome(_ descriptor: Int32, name: String) throws -> [UInt8]? {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, filled in
                count = read(descriptor, buffer.baseAddress, buffer.count)
                filled = max(count, 0)
            }
            if count > 0 { return piece }
            if count == 0 { return nil }
            if errno == EINTR || errno == EAGAIN { continue }
            throw CommandFailure(.refused, "\(name) can't be read: \(String(cString: strerror(errno))).")
        }
    }
}
