/// A snapshot that is being written.
struct PendingSnapshot {
    let revision: Int
    let time: Int
    let start: Int
    var digest: PartsDigest
    /// Whether there is one of this revision already, with the same contents.
    let isThere: Bool
}

/// Snapshots are written in parts, each in a transaction of its own, so that groups can be written between them. They
/// count once the row in `snapshots` follows the last part.
extension LogFile {
    /// Begins a snapshot; one that was begun and not ended is discarded.
    ///
    /// - Parameters:
    ///   - revision: The revision of its states, at most `lastRevision`. With the first of a log that holds nothing,
    ///     history begins at any revision.
    ///   - time: Milliseconds since 1970.
    package func beginSnapshot(revision: Int, time: Int) throws(LogFailure) {
        precondition(
            revision <= lastRevision || number == 0, "A snapshot holds what has been appended.")
        try cancelSnapshot()
        try usable()
        let isThere =
            try database.integer("SELECT count(*) FROM snapshots WHERE revision = \(revision)") > 0
        pending = PendingSnapshot(
            revision: revision, time: time, start: written, digest: PartsDigest(of: revision),
            isThere: isThere)
    }

    /// Writes the next part: UTF-8, whole lines, at most a MiB. It is not synced: it counts only later.
    package func addPart(_ records: UnsafeRawBufferPointer) throws(LogFailure) {
        guard var snapshot = pending else {
            preconditionFailure("A part belongs to a snapshot that was begun.")
        }
        if snapshot.isThere { return }
        try usable()
        try checkpointIfDue()
        try setFull(false)
        let insertion = try Statement(
            database, "INSERT INTO snapshot_parts(revision, part, records) VALUES(?1, ?2, ?3)")
        insertion.bind(1, snapshot.revision)
        insertion.bind(2, snapshot.digest.parts)
        insertion.bind(3, text: records)
        try insertion.run()
        wroteUnsynced()
        snapshot.digest.add(records)
        pending = snapshot
    }

    /// Makes the snapshot count, once the next sync has made it durable: with it goes everything before it.
    package func endSnapshot() throws(LogFailure) {
        guard let snapshot = pending else { preconditionFailure("Only a snapshot that was begun can end.") }
        if snapshot.isThere {
            pending = nil
            return
        }
        try usable()
        try setFull(false)
        let digest = snapshot.digest
        let info = SnapshotInfo(
            revision: snapshot.revision, time: snapshot.time, parts: digest.parts, bytes: digest.bytes,
            start: snapshot.start, digest: digest.text([snapshot.time, snapshot.start]))
        try database.execute(info.insertion)
        wroteUnsynced()
        if number == 0, snapshot.revision > lastRevision {
            reached(snapshot.revision)
            oldestRevision = snapshot.revision
        }
        pending = nil
    }

    /// Discards a snapshot that was begun, and removes its parts.
    package func cancelSnapshot() throws(LogFailure) {
        guard let snapshot = pending else { return }
        pending = nil
        if snapshot.isThere || snapshot.digest.parts == 0 { return }
        try usable()
        try setFull(false)
        try database.execute("DELETE FROM snapshot_parts WHERE revision = \(snapshot.revision)")
        wroteUnsynced()
    }
}

/// What the log records about a snapshot beside its contents.
package struct SnapshotInfo: Sendable, Equatable {
    /// The revision of its states.
    package let revision: Int
    /// Milliseconds since 1970.
    package let time: Int
    package let parts: Int
    /// The size of all parts.
    package let bytes: Int
    /// Bytes of entries in all groups before it was begun.
    let start: Int
    let digest: String

    /// The statement that makes its parts count.
    var insertion: String {
        """
        INSERT INTO snapshots(revision, time, start, parts, bytes, digest) \
        VALUES(\(revision), \(time), \(start), \(parts), \(bytes), '\(digest)')
        """
    }
}
