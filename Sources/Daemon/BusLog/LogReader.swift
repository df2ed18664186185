/// Reads a log: beside a running writer, in its process or another, or while there is none. It sees what is committed,
/// changes nothing, and never blocks the writer for longer than it takes to copy a MiB. Of a tail it sees what was there when it was
/// opened: the writer's own process brings that into the file before it reads (`LogFile.settle`).
///
/// It belongs to one thread at a time.
package final class LogReader {
    /// The path as given, for failures.
    package let path: String
    /// When the file was last changed, if it is read as it stands.
    private var changed: Int?
    /// How far the log had come before it was opened, as its daemon noted.
    private var note: LogNote?
    let database: Database
    let contents: LogContents
    /// Reads blocks of the index, once one was looked for.
    var blocks: Statement?

    /// - Parameter vfs: Another storage than the file system's, by its name in SQLite.
    /// - Throws: `notALog` also when there is no file.
    package init(path: String, vfs: String? = nil) throws(LogFailure) {
        self.path = path
        if vfs == nil { try LogPlace.checkPresence(of: path) }
        database = try Database(path: path, .reading, vfs: vfs)
        try Schema.check(database)
        contents = try LogContents(
            database, Self.tail(of: vfs == nil ? LogPlace.resolved(path) : path, vfs, in: database))
    }

    /// Reads a log that may be a copy. Where no write-ahead log belongs to it, nothing is written beside it: it is read as it
    /// stands, and what a daemon that starts meanwhile does to it may look like damage; then `wasWritten`.
    package init(standing path: String) throws(LogFailure) {
        self.path = path
        try LogPlace.checkPresence(of: path)
        let place = LogPlace.resolved(path)
        note = LogLock.note(beside: place)
        let isAlone = WALScan(place + "-wal").isEmpty
        changed = isAlone ? LogPlace.changeTime(of: place) : nil
        database = try Database(path: place, isAlone ? .readingAlone : .reading)
        try Schema.check(database)
        contents = try LogContents(database, Self.tail(of: place, nil, in: database))
    }

    /// The tail of the same history; nil if there is none.
    private static func tail(
        of place: String, _ vfs: String?, in database: Database
    ) throws(LogFailure) -> TailContents? {
        guard let tail = try TailContents(of: place, vfs: vfs),
            try Meta.text("epoch", in: database) == tail.epoch
        else { return nil }
        return tail
    }

    /// Whether somebody has written what is read as it stands.
    package var wasWritten: Bool {
        guard let changed else { return false }
        let place = LogPlace.resolved(path)
        return !WALScan(place + "-wal").isEmpty || LogPlace.changeTime(of: place) != changed
    }

    /// Throws `damaged` where a log that is read as it stands ends before what its daemon noted: commits are missing.
    package func requireEnd() throws(LogFailure) {
        guard let note, try epoch() == note.epoch else { return }
        let last = max(try snapshots().first?.revision ?? 0, try lastRevision(by: .max))
        if last < note.revision {
            throw LogFailure(.damaged, path: path, note.loss(of: path, endingWith: last))
        }
    }

    /// The name of the history; nil before the writer has begun one.
    package func epoch() throws(LogFailure) -> String? { try Meta.text("epoch", in: database) }

    /// The bus over several machines that it is a copy of; nil for a log of one machine.
    package func copyOf() throws(LogFailure) -> String? { try Meta.text(CopyName.bus, in: database) }

    /// Bytes of the file that are in use.
    package func bytesInUse() throws(LogFailure) -> Int { try FileRoom(database).used }

    /// The snapshots, newest first.
    package func snapshots() throws(LogFailure) -> [SnapshotInfo] { try contents.snapshots() }

    /// The whole text of a snapshot.
    ///
    /// - Throws: `damaged` if it is not what was written; `lost` if there is none of this revision.
    package func snapshot(_ revision: Int) throws(LogFailure) -> [UInt8] {
        guard let snapshot = try contents.snapshots().first(where: { $0.revision == revision }) else {
            throw contents.tooOld()
        }
        var text: [UInt8] = []
        text.reserveCapacity(max(0, min(snapshot.bytes, 1 << 30)))
        try contents.forEachPart(of: snapshot) { text.append(contentsOf: $0) }
        return text
    }

    /// Calls `body` with each group that comes after a revision, at least in part, in order: the first one may begin
    /// before it. Groups written meanwhile are included.
    ///
    /// - Parameter body: Returns false to end it. It may take its time.
    /// - Throws: `damaged` at the first group that is not whole; `lost` if groups after the revision were trimmed.
    package func forEachGroup(
        after revision: Int, _ body: (Group) throws(LogFailure) -> Bool
    ) throws(LogFailure) {
        var isFirst = true
        try contents.forEachGroup(from: try contents.number(after: revision)) { group throws(LogFailure) in
            if isFirst, group.first > revision + 1 { throw contents.tooOld() }
            isFirst = false
            return try body(group)
        }
    }

    /// The last revision of the groups that were written at or before a time, in milliseconds since 1970; 0 if there is none.
    package func lastRevision(by time: Int) throws(LogFailure) -> Int {
        try contents.lastRevision(by: time)
    }
}

/// Reads a member's copy of the shared log. Of a log that is none there is nothing to read.
extension LogReader {
    /// The places of the replicas, newest first.
    package func replicas() throws(LogFailure) -> [Int] {
        try contents.sharedCopy()?.replicas().map(\.place) ?? []
    }

    /// Calls `body` with each part of a replica, in order, then compares the digest: what was given is valid only if this
    /// returns.
    ///
    /// - Parameter body: Receives bytes that are valid during the call. It must be quick: until it returns, the
    ///   write-ahead log can't be used again.
    /// - Throws: `damaged` if it is not what was written; `lost` if there is none of this place.
    package func forEachReplicaPart(
        of place: Int, _ body: (UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        guard let shared = try contents.sharedCopy(),
            let replica = try shared.replicas().first(where: { $0.place == place })
        else { throw SharedCopyContents.gone(place, from: path) }
        try shared.forEachPart(of: replica, body)
    }

    /// Calls `body` with each batch that may hold entries behind one place and up to another, in order: the first may begin
    /// at or before the one, and the last may end behind the other. Batches written meanwhile are included.
    ///
    /// - Parameter body: Receives the place of the batch's last entry, and the batch, which is valid during the call. It
    ///   may take its time.
    /// - Throws: `damaged` at the first batch that is not whole; `lost` if batches behind the first place were removed.
    package func forEachSharedBatch(
        behind place: Int, through last: Int,
        _ body: (Int, UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        try contents.sharedCopy()?.forEachBatch(behind: place, through: last) { batch throws(LogFailure) in
            try body(batch.place, batch.entries)
        }
    }
}
