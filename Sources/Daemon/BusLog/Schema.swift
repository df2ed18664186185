import CSQLite

/// The tables of the log, as an operator sees them with the `sqlite3` tool. The comments in the SQL are for that operator:
/// SQLite keeps them, and `.schema` shows them.
enum Schema {
    /// "FLUX", so that a file of another program is recognised.
    static let applicationID = 0x464c_5558
    /// The newest form of the tables; a file of a later form is refused. Thinned logs have this form, all others the first.
    static let form = 2
    private static let firstForm = 1

    static let create = """
        BEGIN IMMEDIATE;
        CREATE TABLE meta( -- what the log is, and how its last run ended
            name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE groups( -- commits, in the groups in which they were written
            number INTEGER PRIMARY KEY, -- consecutive, but where nothing was left of some (horizons)
            first INTEGER NOT NULL,     -- revision of the first commit
            last INTEGER NOT NULL,      -- of the last; first - 1 if there is none
            time INTEGER NOT NULL,      -- milliseconds since 1970, UTC
            start INTEGER NOT NULL,     -- bytes of entries in all groups before
            digest TEXT NOT NULL,       -- of all other columns
            entries TEXT NOT NULL       -- one JSON object per line; the view commits shows them
        );
        CREATE TABLE snapshots( -- all states at a revision; replay begins with the newest
            revision INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,   -- milliseconds since 1970, UTC
            start INTEGER NOT NULL,  -- bytes of entries in all groups before it was begun
            parts INTEGER NOT NULL, bytes INTEGER NOT NULL,
            digest TEXT NOT NULL     -- of the parts, in order, and of time and start
        );
        CREATE TABLE snapshot_parts( -- counted from 0; without a row in snapshots they do not count
            revision INTEGER, part INTEGER, records TEXT NOT NULL,
            PRIMARY KEY(revision, part)) WITHOUT ROWID;
        \(IndexSchema.create);
        CREATE VIEW commits AS -- SELECT * FROM commits WHERE first <= 43 AND last >= 43 is fast
            SELECT json_extract(value, '$.revision') AS revision,
                ifnull(json_extract(value, '$.times'), 1) AS times,
                strftime('%Y-%m-%d %H:%M:%f', json_extract(value, '$.time'), 'unixepoch') AS time,
                json_extract(value, '$.time') AS seconds,
                json_extract(value, '$.by') AS by,
                json_extract(value, '$.actions') AS actions,
                json_extract(value, '$.key') AS key,
                json_remove(value, '$.revision', '$.times', '$.time', '$.by', '$.actions', '$.key') AS other,
                number, first, last
            FROM groups, json_each('[' || replace(entries, char(10), ',') || ']');
        CREATE VIEW sizes AS -- bytes of what is kept, and of the file
            SELECT 'groups' AS part, count(*) AS count, sum(length(CAST(entries AS BLOB))) AS bytes FROM groups
            UNION ALL SELECT 'snapshots', count(*), sum(bytes) FROM snapshots
            UNION ALL SELECT 'file', page_count, page_count * page_size FROM pragma_page_count, pragma_page_size
            UNION ALL SELECT 'free', freelist_count, freelist_count * page_size
                FROM pragma_freelist_count, pragma_page_size;
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(firstForm);
        COMMIT;
        """

    /// Whether the file is still empty: it has no tables and no application's mark, because its creator got no further.
    static func isAbsent(in database: Database) throws(LogFailure) -> Bool {
        if try database.integer("PRAGMA application_id") != 0 { return false }
        return try database.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// Throws unless the file is a log that this version can read.
    static func check(_ database: Database) throws(LogFailure) {
        let path = database.path
        guard try database.integer("PRAGMA application_id") == applicationID else {
            throw LogFailure(
                .notALog, path: path,
                "\(path) is a file of another program; name another one in log.path or move this one away.")
        }
        let form = try database.integer("PRAGMA user_version")
        guard form <= Self.form else {
            throw LogFailure(
                .newerForm, path: path,
                "The log \(path) has form \(form), written by a later version; install that one, or move the log away."
            )
        }
        // Its rows are read by name later; a missing table is reported here.
        _ = try Statement(database, "SELECT name, value FROM meta")
        _ = try Statement(database, "SELECT number, first, last, time, start, digest, entries FROM groups")
        _ = try Statement(database, "SELECT revision, time, start, parts, bytes, digest FROM snapshots")
        _ = try Statement(database, "SELECT revision, part, records FROM snapshot_parts")
    }

    /// As `check`, but for a rescue: a file that was cut, or whose schema is partly damaged, is read as far as it goes.
    ///
    /// - Returns: What keeps everybody else from reading it; nil if nothing does.
    static func checkToRescue(_ database: Database) throws(LogFailure) -> String? {
        do throws(LogFailure) {
            try check(database)
            return nil
        } catch {
            guard error.kind == .damaged else { throw error }
            // SQLite refuses such a file to all but those who are about to mend it.
            try database.execute("PRAGMA writable_schema = ON")
            guard (try? check(database)) != nil else { throw error }
            return error.message
        }
    }
}
