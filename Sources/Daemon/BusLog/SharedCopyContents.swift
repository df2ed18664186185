/// Reads a member's copy of the shared log, and uses nothing of it before its digest has been compared.
///
/// As with the groups, no call holds a read transaction while it calls a closure, but for the parts of a replica.
final class SharedCopyContents {
    private let database: Database
    private let ends: Statement
    private let part: Statement
    private let batches: Statement
    private var room: [UInt8] = []

    /// More than any place can be; with those below it sums can't overflow.
    private static let most = 1 << 56

    /// - Throws: `damaged` unless the tables are there.
    init(_ database: Database) throws(LogFailure) {
        try SharedCopySchema.check(database)
        self.database = database
        ends = try Statement(
            database, "SELECT place, parts, bytes, digest FROM replica_ends ORDER BY place DESC")
        part = try Statement(database, "SELECT bytes FROM replicas WHERE place = ?1 AND part = ?2")
        batches = try Statement(
            database,
            "SELECT place, before, digest, entries FROM shared_entries WHERE place > ?1 ORDER BY place LIMIT 1"
        )
    }

    // MARK: - Replicas

    /// The replicas, newest first, that can be read before damage is met.
    func replicas() throws(LogFailure) -> [ReplicaInfo] {
        try ends.rowsBeforeDamage {
            // A row with impossible numbers is damaged, and no replica.
            guard (0..<3).allSatisfy({ 0...Self.most ~= ends.integer($0) }) else { return nil }
            return ReplicaInfo(
                place: ends.integer(0), parts: ends.integer(1), bytes: ends.integer(2), digest: ends.text(3))
        }
    }

    /// Calls `body` with each part in order, then compares the digest: the parts are valid only if this returns.
    ///
    /// - Parameter body: Receives bytes that are valid during the call. It must be quick, since it runs in a read
    ///   transaction.
    /// - Throws: `damaged` if it is not what was written; `lost` if it was removed meanwhile.
    func forEachPart(
        of replica: ReplicaInfo, _ body: (UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        let digest = try part.forEachPart(
            replica.parts, of: replica.place,
            missing: { number throws(LogFailure) in
                guard try replicas().contains(replica) else { return gone(replica.place) }
                return database.damaged("part \(number) of the replica of place \(replica.place) is missing")
            }, body)
        guard ReplicaInfo(replica.place, digest) == replica else {
            throw database.damaged("the replica of place \(replica.place) is not what was written")
        }
    }

    func isWhole(_ replica: ReplicaInfo) -> Bool { (try? forEachPart(of: replica) { _ in }) != nil }

    /// Why there is no replica of a place.
    func gone(_ place: Int) -> LogFailure { Self.gone(place, from: database.path) }

    static func gone(_ place: Int, from path: String) -> LogFailure {
        LogFailure(
            .lost, path: path,
            "The log \(path) has no replica of place \(place) of the shared log; begin with its newest one.")
    }

    // MARK: - Batches

    /// Calls `body` with each batch that may hold entries behind one place and up to another, in order, each compared
    /// with its digest and the one before: the first may begin earlier and the last may end later.
    ///
    /// - Throws: `damaged` at the first batch that is missing or not whole; `lost` if some were removed since.
    func forEachBatch(
        behind place: Int, through last: Int, _ body: (SharedBatch) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        var reached = place
        var isFirst = true
        while reached < last, let (next, before, digest) = try read(behind: reached) {
            let outcome = room.withUnsafeBytes { entries in
                Result { () throws(LogFailure) in
                    let batch = SharedBatch(place: next, before: before, entries: entries)
                    guard batch.digest.text == digest, 0..<next ~= before else {
                        throw database.damaged("the batch of place \(next) is not what was written")
                    }
                    guard before == reached || isFirst && before < reached else {
                        throw try gap(behind: reached)
                    }
                    if before < last { try body(batch) }
                }
            }
            try outcome.get()
            reached = next
            isFirst = false
        }
    }

    /// Copies the entries of the first batch that ends behind a place; nil if there is none.
    private func read(behind place: Int) throws(LogFailure) -> (place: Int, before: Int, digest: String)? {
        batches.bind(1, place)
        defer { batches.reset() }
        guard try batches.next() else { return nil }
        room.removeAll(keepingCapacity: true)
        room.append(contentsOf: batches.bytes(3))
        return (batches.integer(0), batches.integer(1), batches.text(2))
    }

    /// Why the batch that follows a place is not there although later ones are.
    private func gap(behind place: Int) throws(LogFailure) -> LogFailure {
        if let oldest = try replicas().last, oldest.place > place {
            return LogFailure(
                .lost, path: database.path,
                "The log \(database.path) no longer has what follows place \(place) of the shared log; begin with its newest "
                    + "replica.")
        }
        return database.damaged("the batch after place \(place) is missing")
    }
}
