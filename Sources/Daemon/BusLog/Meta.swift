/// The table `meta`: facts about the file as a whole.
enum Meta {
    static func text(_ name: String, in database: Database) throws(LogFailure) -> String? {
        let statement = try Statement(database, "SELECT value FROM meta WHERE name = ?1")
        return try name.utf8Span.span.withUnsafeBytes { (name) throws(LogFailure) in
            statement.bind(1, text: name)
            defer { statement.reset() }
            return try statement.next() ? statement.text(0) : nil
        }
    }

    /// All rows that can be read; nil if not all of them can.
    static func readable(in database: Database) -> [(String, String)]? {
        guard let statement = try? Statement(database, "SELECT name, value FROM meta") else { return nil }
        defer { statement.reset() }
        var rows: [(String, String)] = []
        do {
            while try statement.next() { rows.append((statement.text(0), statement.text(1))) }
        } catch { return nil }
        return rows
    }

    /// Writes all of them in one transaction. Names and values are ours and hold no quotes but those of an epoch, which
    /// are doubled.
    static func set(_ values: [(String, String)], in database: Database) throws(LogFailure) {
        if values.isEmpty { return }
        let rows = values.map { name, value in "('\(name)', '\(quoted(value))')" }
        try database.execute(
            "INSERT OR REPLACE INTO meta(name, value) VALUES " + rows.joined(separator: ", "))
    }

    /// Writes a value, whatever it holds, or removes it.
    ///
    /// - Parameter name: One of ours.
    static func write(_ name: String, _ value: String?, in database: Database) throws(LogFailure) {
        guard let value else { return try database.execute("DELETE FROM meta WHERE name = '\(name)'") }
        let insertion = try Statement(
            database, "INSERT OR REPLACE INTO meta(name, value) VALUES('\(name)', ?1)")
        try insertion.run(1, value)
    }

    /// Whether the previous run may have had commits that are not in the file.
    static func mayHaveLost(in database: Database, bootID: String) throws(LogFailure) -> Bool {
        guard let mode = try text("sync", in: database) else { return false }
        if try text("clean", in: database) == "1" { return false }
        if let failed = try text("failed", in: database), !failed.isEmpty { return true }
        if mode == SyncMode.always.rawValue { return false }
        // Where the system does not tell its boot, the machine may have lost its power.
        if bootID.isEmpty { return true }
        return try text("boot", in: database) != bootID
    }

    /// The rows that say that commits are lost, until a run begins.
    static let lostCommits = [("clean", "0"), ("failed", "damaged")]

    /// Whether a run began that did not end in order, and the history has not been renamed since: then a write-ahead
    /// log belongs to the file. Each start writes this into the file itself, and each orderly end removes it.
    static func isInUse(in database: Database) throws(LogFailure) -> Bool {
        guard try text("clean", in: database) == "0" else { return false }
        guard let begun = try text("begun", in: database) else { return true }
        let epoch = try text("epoch", in: database)
        return begun == epoch
    }

    /// The row that says whether a tail belongs to the file.
    static func hasTail(_ has: Bool) -> (String, String) { ("tail", has ? "1" : "") }

    /// Whether a tail belongs to the file.
    static func hasTail(in database: Database) throws(LogFailure) -> Bool {
        guard try text("tail", in: database) == "1" else { return false }
        return try isInUse(in: database)
    }

    private static func quoted(_ value: String) -> String {
        value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }
}
