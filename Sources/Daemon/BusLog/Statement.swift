import CSQLite

/// A prepared statement. Parameters count from 1, columns from 0.
final class Statement {
    private let handle: OpaquePointer
    private let database: Database

    init(_ database: Database, _ sql: String) throws(LogFailure) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(
            database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw database.failure(code) }
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ parameter: Int32, _ value: Int) {
        sqlite3_bind_int64(handle, parameter, Int64(value))
    }

    /// Binds text that must stay in place until the statement has run.
    func bind(_ parameter: Int32, text: UnsafeRawBufferPointer) {
        // Without bytes there may be no address, and no address would mean null.
        guard let start = text.baseAddress, !text.isEmpty else {
            sqlite3_bind_text(handle, parameter, "", 0, nil)
            return
        }
        sqlite3_bind_text64(
            handle, parameter, start.assumingMemoryBound(to: CChar.self), UInt64(text.count), nil,
            UInt8(SQLITE_UTF8))
    }

    /// Binds bytes that must stay in place until the statement has run.
    func bind(_ parameter: Int32, blob: UnsafeRawBufferPointer) {
        guard let start = blob.baseAddress, !blob.isEmpty else {
            sqlite3_bind_zeroblob(handle, parameter, 0)
            return
        }
        sqlite3_bind_blob64(handle, parameter, start, UInt64(blob.count), nil)
    }

    /// Binds a text and runs the statement.
    func run(_ parameter: Int32, _ text: String) throws(LogFailure) {
        try text.utf8Span.span.withUnsafeBytes { (text) throws(LogFailure) in
            bind(parameter, text: text)
            try run()
        }
    }

    /// Runs a statement that returns no rows.
    func run() throws(LogFailure) {
        defer { reset() }
        while try next() {}
    }

    /// Moves to the next row; false after the last. Until it is reset, the statement holds a read transaction.
    func next() throws(LogFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw database.failure(code)
        }
    }

    func reset() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// Valid until the next step or reset.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        guard let start = sqlite3_column_blob(handle, column) else { return .init(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }
}
