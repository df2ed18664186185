import CSQLite
import Glibc

/// One connection to a SQLite file. It is used by one thread at a time and reports errors as `LogFailure`s.
final class Database {
    let handle: OpaquePointer
    let path: String

    /// How the file is opened.
    enum Access {
        case reading, writing, creating
        /// Without its write-ahead log and without locks: only while no process writes.
        case readingAlone
    }

    /// - Parameter vfs: Another storage than the file system's, by its name in SQLite.
    init(path: String, _ access: Access, vfs: String? = nil) throws(LogFailure) {
        let flags =
            switch access {
            case .reading: SQLITE_OPEN_READONLY
            case .readingAlone: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .writing: SQLITE_OPEN_READWRITE
            case .creating: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        var handle: OpaquePointer?
        // One thread at a time: SQLite's own mutexes would only cost.
        let name = access == .readingAlone ? "file:\(Self.escaped(path))?immutable=1" : path
        let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard code == SQLITE_OK, let handle else {
            let systemError = handle.map { sqlite3_system_errno($0) } ?? ENOMEM
            sqlite3_close_v2(handle)
            throw LogFailure(
                code: code, systemError: systemError, path: path,
                detail: String(cString: sqlite3_errstr(code)))
        }
        self.handle = handle
        self.path = path
        sqlite3_busy_timeout(handle, Self.patience)
        try check(sqlite_distrust_schema(handle))
        // A damaged page is detected before its contents are used.
        try execute("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")
    }

    deinit { sqlite3_close_v2(handle) }

    /// How long to wait for another program that writes, in milliseconds. Longer, and the bus would seem dead.
    static let patience: Int32 = 1000

    /// Runs statements that return no rows, or whose rows are not needed.
    func execute(_ sql: String) throws(LogFailure) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// The first column of the first row; 0 without one.
    func integer(_ sql: String) throws(LogFailure) -> Int {
        let statement = try Statement(self, sql)
        defer { statement.reset() }
        return try statement.next() ? statement.integer(0) : 0
    }

    /// The first column of the first row as text; nil without one.
    func text(_ sql: String) throws(LogFailure) -> String? {
        let statement = try Statement(self, sql)
        defer { statement.reset() }
        return try statement.next() ? statement.text(0) : nil
    }

    /// The path, escaped for a URI.
    private static func escaped(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.utf8.reduce(into: "") { text, byte in
            let isPlain =
                byte == 0x2f || byte == 0x2e || (0x61...0x7a).contains(byte | 0x20)
                || (0x30...0x39).contains(byte)
            text +=
                isPlain ? String(UnicodeScalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }

    /// Rows that the last statement has inserted, changed or deleted.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// Runs statements that all take effect, or none of them does.
    func transaction(_ body: () throws(LogFailure) -> Void) throws(LogFailure) {
        try execute("BEGIN IMMEDIATE")
        do throws(LogFailure) {
            try body()
            try execute("COMMIT")
        } catch {
            rollBack()
            throw error
        }
    }

    /// Undoes what a transaction has done that could not be committed.
    func rollBack() {
        // After some failures SQLite has done so already.
        if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    func damaged(_ what: String) -> LogFailure {
        LogFailure(.damaged, path: path, LogFailure.damage(to: path, what))
    }

    func check(_ code: Int32) throws(LogFailure) {
        if code != SQLITE_OK { throw failure(code) }
    }

    func failure(_ code: Int32) -> LogFailure {
        // SQLite remembers the error number of a system call until the next one fails, so it is valid for these only.
        let isOfSystem = [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xff)
        return LogFailure(
            code: code, systemError: isOfSystem ? sqlite3_system_errno(handle) : 0, path: path,
            detail: String(cString: sqlite3_errmsg(handle)))
    }
}
