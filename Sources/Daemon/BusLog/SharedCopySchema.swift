/// The tables of a log that is a member's copy of a bus over several machines, beside those of every log. A local bus has
/// none of them; a version that does not know them leaves them alone.
enum SharedCopySchema {
    static let create = """
        CREATE TABLE IF NOT EXISTS shared_entries( -- the shared log, in the batches in which it was written here
            place INTEGER PRIMARY KEY, -- of the last entry in the shared log
            before INTEGER NOT NULL,   -- where the batch or replica before it ends: nothing is missing between
            digest TEXT NOT NULL,      -- of all other columns
            entries BLOB NOT NULL
        );
        CREATE TABLE IF NOT EXISTS replica_ends( -- all of the bus at a place of the shared log; the last two are kept
            place INTEGER PRIMARY KEY, parts INTEGER NOT NULL, bytes INTEGER NOT NULL,
            digest TEXT NOT NULL -- of the parts, in order
        );
        CREATE TABLE IF NOT EXISTS replicas( -- counted from 0; without a row in replica_ends they do not count
            place INTEGER, part INTEGER, bytes BLOB NOT NULL, PRIMARY KEY(place, part)) WITHOUT ROWID;
        """

    /// Makes the log that of a local bus.
    static let remove: String = {
        let names = [CopyName.bus, CopyName.member] + CopyFact.allCases.map(\.rawValue)
        return """
            BEGIN IMMEDIATE;
            DROP TABLE IF EXISTS shared_entries;
            DROP TABLE IF EXISTS replica_ends;
            DROP TABLE IF EXISTS replicas;
            DELETE FROM meta WHERE name IN (\(names.map { "'\($0)'" }.joined(separator: ", ")));
            COMMIT;
            """
    }()

    private static let columns = [
        "shared_entries": "place,before,digest,entries", "replica_ends": "place,parts,bytes,digest",
        "replicas": "place,part,bytes",
    ]

    /// Throws `damaged` unless the tables are there, as they were made.
    static func check(_ database: Database) throws(LogFailure) {
        for (table, columns) in columns {
            let found = try database.text("SELECT group_concat(name) FROM pragma_table_info('\(table)')")
            guard found == columns else {
                throw database.damaged("it has no table \(table), although it is a member's copy of a bus")
            }
        }
    }
}
