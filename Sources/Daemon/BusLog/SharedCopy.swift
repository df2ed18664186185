/// What the writer of a log knows of the member's copy in it.
final class SharedCopy {
    let bus: String
    let member: String
    /// The place up to which everything is written.
    private(set) var reached: Int
    /// The place up to which everything is on disk.
    private(set) var durable: Int
    /// The places of the replicas that count, newest first.
    private(set) var replicas: [Int]
    /// The replica that is being written.
    var pending: PendingReplica?
    /// Whether there is nothing left to remove.
    var isTidy = false

    private let database: Database
    private let insertion: Statement
    private let beginning: Statement
    private let commit: Statement

    /// - Parameters:
    ///   - contents: Of a log that is a copy.
    ///   - place: The place up to which it was found whole.
    init(_ database: Database, _ contents: LogContents, place: Int) throws(LogFailure) {
        bus = try Meta.text(CopyName.bus, in: database) ?? ""
        member = try Meta.text(CopyName.member, in: database) ?? ""
        self.database = database
        (reached, durable) = (place, place)
        replicas = try contents.sharedCopy()?.replicas().map(\.place) ?? []
        insertion = try Statement(database, SharedBatch.insertion)
        beginning = try Statement(database, "BEGIN IMMEDIATE")
        commit = try Statement(database, "COMMIT")
    }

    // MARK: - Batches

    /// Writes the next batch, in one transaction with what `others` writes.
    func write(
        place: Int, _ entries: UnsafeRawBufferPointer, with others: (() throws(LogFailure) -> Void)?
    ) throws(LogFailure) {
        let batch = SharedBatch(place: place, before: reached, entries: entries)
        guard let others else { return try batch.insert(with: insertion) }
        do throws(LogFailure) {
            try beginning.run()
            try others()
            try batch.insert(with: insertion)
            try commit.run()
        } catch {
            database.rollBack()
            throw error
        }
    }

    /// Records how far it has come.
    func reached(_ place: Int, isDurable: Bool) {
        reached = place
        if isDurable { durable = place }
    }

    /// Records that everything up to a place is on disk.
    func synced(through place: Int) { durable = max(durable, place) }

    // MARK: - Replicas

    /// Makes the parts of a replica count, and those of all before the last two no longer.
    func end(_ replica: ReplicaInfo) throws(LogFailure) {
        let kept = [replica.place] + replicas.prefix(1)
        try database.transaction { () throws(LogFailure) in
            // Of an earlier attempt there may be more.
            try database.execute(
                "DELETE FROM replicas WHERE place = \(replica.place) AND part >= \(replica.parts)")
            try database.execute(replica.insertion)
            try database.execute(
                "DELETE FROM replica_ends WHERE place NOT IN (\(kept.map(String.init).joined(separator: ", ")))"
            )
        }
        replicas = kept
        reached = max(reached, replica.place)
        isTidy = false
    }

    /// Removes parts of replicas that do not count, and batches that all replicas are newer than.
    ///
    /// - Returns: How many rows; fewer than `most` only where nothing is left.
    func removeOld(most: Int) throws(LogFailure) -> Int {
        // SQLite takes a negative limit for none.
        let most = max(0, most)
        try database.execute(
            """
            DELETE FROM replicas WHERE (place, part) IN (SELECT place, part FROM replicas \
            WHERE place NOT IN (SELECT place FROM replica_ends) AND place != \(pending?.place ?? -1) LIMIT \(most))
            """)
        var removed = database.changes
        // With one replica all batches are kept, in case it turns out to be damaged.
        guard removed < most, replicas.count > 1, let oldest = replicas.last else { return removed }
        try database.execute(
            """
            DELETE FROM shared_entries WHERE place IN (SELECT place FROM shared_entries \
            WHERE place <= \(oldest) ORDER BY place LIMIT \(most - removed))
            """)
        removed += database.changes
        return removed
    }
}

/// A replica that is being written.
struct PendingReplica {
    let place: Int
    var digest: PartsDigest
    /// Whether there is one of this place already, which is the same.
    let isThere: Bool
}

/// What a log that is a member's copy says about itself in `meta`.
enum CopyName {
    static let bus = "bus"
    static let member = "member"
}

/// What a member remembers beside its copy of the shared log.
package enum CopyFact: String, Sendable, CaseIterable {
    /// The shared log's name for itself.
    case cluster
    /// The member's last incarnation.
    case incarnation
    /// What the member has evidence of; bytes in hexadecimal digits.
    case proof
    /// Why this copy is not to be used any more, in one sentence.
    case discard
}

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

/// The reliable contents of a member's copy: its newest whole replica, and the batches behind it as far as they are whole.
struct SharedCopySurvey {
    /// The newest whole replica; nil if it begins where the shared log does.
    private(set) var replica: ReplicaInfo?
    /// The place up to which it is whole.
    private(set) var place = 0
    /// Damage, in words; empty if there is none that matters.
    private(set) var problems: [String] = []
    /// Whether it has a replica to begin with and whole batches from there to its end.
    private(set) var isUsable = true

    /// - Parameter log: A member's copy.
    init(_ log: LogContents) throws(LogFailure) {
        isUsable = try noting { survey throws(LogFailure) in
            guard let contents = try log.sharedCopy() else { return }
            var replicas: [ReplicaInfo] = []
            try survey.noting { _ throws(LogFailure) in replicas = try contents.replicas() }
            for replica in replicas {
                let isWhole = try survey.noting { _ throws(LogFailure) in
                    try contents.forEachPart(of: replica) { _ throws(LogFailure) in }
                }
                guard isWhole else { continue }
                survey.replica = replica
                survey.place = replica.place
                break
            }
            try contents.forEachBatch(behind: survey.place, through: .max) { batch throws(LogFailure) in
                survey.place = batch.place
            }
        }
        // Without a replica it may be the end that is missing with it.
        if replica == nil, !problems.isEmpty { isUsable = false }
    }

    /// Runs what may find damage, and records it; false if it did.
    @discardableResult
    private mutating func noting(_ body: (inout Self) throws(LogFailure) -> Void) throws(LogFailure) -> Bool {
        do {
            try body(&self)
            return true
        } catch {
            // Batches that were removed, because a newer replica stood for them, are lost with that.
            guard error.kind == .damaged || error.kind == .lost else { throw error }
            problems.append(error.message)
            return false
        }
    }
}
