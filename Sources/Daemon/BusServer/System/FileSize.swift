import Glibc

/// How large the log is on the disk.
enum FileSize {
    /// The bytes of a log's file and of the write-ahead log beside it; nil if there is no such file.
    static func of(_ path: String) -> Int? {
        guard let file = bytes(path) else { return nil }
        return file + (bytes(path + "-wal") ?? 0)
    }

    private static func bytes(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
