import CSQLite
import Foundation
import TestServer

/// What befalls the log of a daemon.
extension DaemonBus {
    static func logged() throws -> DaemonBus { try DaemonBus(hasLog: true) }

    func verify() throws -> RunningProgram.Outcome { try run(["--verify"]) }

    /// Changes the log as another program could.
    func change(_ sql: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(log, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK,
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
        else { throw LineClient.Failure("\(sql): \(String(cString: sqlite3_errmsg(handle)))") }
    }

    /// How many commits with this action are in the database, and not only in the tail. A copy is asked, since SQLite removes a
    /// write-ahead log whose last reader leaves.
    func settled(_ action: String) throws -> Int {
        let sql = "SELECT ifnull(sum(times), 0) FROM commits WHERE actions LIKE '%\"\(action)\"%'"
        let copy = "\(directory.path)/settled.sqlite"
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: log + suffix, toPath: copy + suffix)
        }
        var handle: OpaquePointer?
        var statement: OpaquePointer?
        defer {
            sqlite3_finalize(statement)
            sqlite3_close_v2(handle)
        }
        guard sqlite3_open_v2(copy, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw LineClient.Failure("\(copy): \(String(cString: sqlite3_errmsg(handle)))") }
        return Int(sqlite3_column_int64(statement, 0))
    }

    /// Turns one bit wherever these bytes stand in the file: also in what a page that was split has left.
    func flip(_ text: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log))
        let places = bytes.ranges(of: Data(text.utf8))
        guard !places.isEmpty else { throw LineClient.Failure("\(text) stands nowhere in the log.") }
        for place in places { bytes[place.lowerBound] ^= 1 }
        try bytes.write(to: URL(fileURLWithPath: log))
    }
}
