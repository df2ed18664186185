import CSQLite
import Glibc

/// A file beside a log that is ours and not SQLite's, in the same storage: of the file system, or one that tests simulate.
final class BesideFile {
    private let handle: UnsafeMutablePointer<sqlite3_file>
    private let path: String
    private let log: String
    private let vfs: String?
    /// Its name as the system takes it, and which file that was; nil in another storage.
    private let place: (name: [CChar], identity: FileIdentity?)?

    private static let piece = 64 << 10

    /// - Parameters:
    ///   - log: The log that it belongs to, for failures.
    ///   - makes: Opens it for writing, and makes it if there is none.
    init(_ path: String, of log: String, vfs: String?, makes: Bool) throws(LogFailure) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite_open_beside(vfs, path, makes ? 1 : 0, &file)
        guard code == SQLITE_OK, let file else { throw Self.failure(code, log) }
        handle = file
        (self.path, self.log, self.vfs) = (path, log, vfs)
        let name = Array(path.utf8CString)
        place = vfs == nil ? (name, FileIdentity(of: name)) : nil
    }

    deinit { sqlite_close_beside(handle) }

    static func isThere(_ path: String, of log: String, vfs: String?) throws(LogFailure) -> Bool {
        var isThere: Int32 = 0
        let code = sqlite_find_beside(vfs, path, &isThere)
        guard code == SQLITE_OK else { throw failure(code, log) }
        return isThere != 0
    }

    /// Writes less than 128 KiB.
    func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(LogFailure) {
        try check(sqlite_write_beside(handle, bytes.baseAddress, Int32(bytes.count), Int64(place)))
    }

    /// Brings it to disk.
    func sync() throws(LogFailure) { try check(sqlite_sync_beside(handle)) }

    /// Reads `count` bytes from the start of the file. Bytes past its end are zero.
    func read(_ count: Int) throws(LogFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var code = SQLITE_OK
        bytes.withUnsafeMutableBytes { bytes in
            for place in stride(from: 0, to: count, by: Self.piece) where code == SQLITE_OK {
                let room = UnsafeMutableRawBufferPointer(
                    rebasing: bytes[place..<min(count, place + Self.piece)])
                code = sqlite_read_beside(handle, room.baseAddress, Int32(room.count), Int64(place))
            }
        }
        try check(code)
        return bytes
    }

    /// Whether it still has its name, and at least this length.
    func isInPlace(size: Int) -> Bool {
        guard let place else { return true }
        guard let (now, length) = FileIdentity.look(at: place.name) else { return false }
        return now == place.identity && length >= size
    }

    /// Removes the file that has the name now.
    func remove() { Self.remove(path, vfs: vfs) }

    static func remove(_ path: String, vfs: String?) { _ = sqlite_remove_beside(vfs, path) }

    private func check(_ code: Int32) throws(LogFailure) {
        if code != SQLITE_OK { throw Self.failure(code, log) }
    }

    private static func failure(_ code: Int32, _ log: String) -> LogFailure {
        let number = errno
        return LogFailure(
            code: code, systemError: number, path: log, detail: String(cString: sqlite3_errstr(code)))
    }
}
