import CSQLite
import Glibc

/// The action log's file, as its one writer sees it: groups of commits at its end, snapshots between them, and the
/// front trimmed when it is old. It does not interpret the bytes.
///
/// Why SQLite: the format is documented, every machine can read it, and its recovery has been tested for decades. Why
/// a thin layer of our own above its C interface instead of GRDB: measured on two cores, GRDB 7.10 adds 86 s to a
/// clean build and 12 MB to a program, and an insert costs 2.8 µs instead of 1.9 (15 µs instead of 10 with its
/// commit), for five statements.
///
/// Guarantees: with `always`, a group whose `append` returned is there after any crash; with `interval`,
/// all groups before the last `sync()`. What is there is a prefix of what was appended, whole groups in
/// order. An `append` that throws leaves nothing behind. After `init` the newest snapshot and all groups
/// after it have been read and found whole.
///
/// It belongs to one owner, which uses it from one thread at a time.
package final class LogFile {
    /// The form of the tables that this version writes, as `PRAGMA user_version` tells; it reads all before it.
    package static let form = Schema.form

    /// The path as given, for failures.
    package let path: String
    package let mode: SyncMode
    /// The name of the history in the file; nil in a new file.
    package private(set) var epoch: String?
    /// Whether commits that clients know of may be missing: the machine went down while the log was not synced on each
    /// append, or damage cost some. The history then needs a new epoch.
    package let mayHaveLost: Bool
    /// What was found damaged and what was done about it, in sentences for the journal.
    package let notices: [String]
    /// The revision of the last commit; 0 when there is none.
    package internal(set) var lastRevision: Int
    /// History is complete after this one: the revision of the oldest snapshot, or 0.
    package internal(set) var oldestRevision: Int

    /// The revision through which a run that did not end in order has reserved them; 0 where none has.
    package let reservedThrough: Int

    let database: Database
    private let bootID: String
    let insertion: Statement
    let checkpoints: Checkpoints
    let contents: LogContents
    private var isFull = false
    /// Transactions written in this run, and how many of them are on disk.
    private(set) var transactions = (written: 0, synced: 0)
    /// Set when it can't be trusted any more until it is opened again.
    private(set) var end: LogFailure?
    /// The number of the newest group; consecutive.
    private(set) var number: Int
    /// Bytes of entries in all groups, including those trimmed.
    private(set) var written: Int
    /// How far the thinning that was begun has come, and how often groups were replaced in this run.
    var thinning: (thinner: Thinner?, steps: Int) = (nil, 0)
    /// The snapshot that is being written.
    var pending: PendingSnapshot?
    /// Snapshots that no longer count, how many of their parts are left to remove, and about how long these are.
    var orphans: [(revision: Int, parts: Int, partBytes: Int)] = []
    private var isSyncChosen = false
    /// Whether free pages can be given back: a file of an earlier version is rewritten first (`Compaction`).
    package let canShrink: Bool
    /// Whether pages were given back that the file has not been cut by.
    var hasGivenBack = false
    /// The copy of the shared log that it holds; nil for a local bus.
    var copy: SharedCopy?
    /// Where small groups are written first; nil: all go into the database at once.
    var tail: LogTail?
    /// The path without symbolic links, or, in another storage, the name of that.
    let storage: (place: String?, vfs: String?)
    /// The write-ahead log by its name; nil in another storage.
    private let ahead: WriteAheadLog?
    /// Opened with the first sync.
    private var aheadDescriptor: WriteAheadLogDescriptor?
    /// Last, so that the connection is closed before another owner can get the lock.
    var lock: LogLock?

    /// Opens the file for writing, and creates it, for its owner only, if there is none. A damaged file is moved aside,
    /// and what can be read of it is kept; `notices` says so.
    ///
    /// - Parameters:
    ///   - bootID: Identifies this boot of the machine (`/proc/sys/kernel/random/boot_id`).
    ///   - vfs: Another storage than the file system's, by its name in SQLite; there is no lock then.
    package init(path: String, sync: SyncMode, bootID: String, vfs: String? = nil) throws(LogFailure) {
        let opening = try LogOpening(path: path, bootID: bootID, vfs: vfs)
        self.path = path
        mode = sync
        self.bootID = bootID
        lock = opening.lock
        storage = (opening.place, vfs)
        ahead = opening.place.map { WriteAheadLog(of: $0, opening.database) }
        database = opening.database
        notices = opening.notices
        epoch = try Meta.text("epoch", in: database)
        lastRevision = opening.survey.lastRevision
        oldestRevision = opening.survey.oldestRevision
        number = opening.survey.number
        written = opening.survey.written
        reservedThrough = try Meta.text(Self.reserved, in: database).flatMap { Int($0) } ?? 0
        let isOpen = try Meta.mayHaveLost(in: database, bootID: bootID)
        mayHaveLost = opening.lostCommits || isOpen
        insertion = try Statement(database, Group.insertion)
        canShrink = try database.integer("PRAGMA auto_vacuum") != 0
        checkpoints = Checkpoints(database)
        contents = try LogContents(database)
        if let survey = opening.survey.copy {
            copy = try SharedCopy(database, contents, place: survey.place)
        }
    }

    /// Begins a run: records the history's name, and that the file is in use. Durable when it returns, whatever the
    /// mode, and so is then everything that earlier runs wrote.
    ///
    /// - Parameter turnsBack: The times of what follows begin before those of what is there.
    package func begin(epoch: String, turnsBack: Bool = false) throws(LogFailure) {
        try usable()
        try setFull(true)
        try Meta.set(
            [
                ("epoch", epoch), ("begun", epoch), ("sync", mode.rawValue), ("boot", bootID),
                ("clean", "0"), ("failed", ""), Meta.hasTail(false),
            ], in: database)
        // It goes into the file itself, which says from then on that a write-ahead log belongs to it; and that must not
        // stay empty, since an empty one counts as missing.
        checkpoints.runAll()
        if turnsBack {
            try Meta.set([("turned", String((contents.numbers()?.upperBound ?? 0) + 1))], in: database)
        }
        try Meta.set([("boot", bootID)], in: database)
        self.epoch = epoch
        lock?.begin(epoch: epoch, revision: lastRevision)
        wroteDurably()
    }

    /// Writes a group in one transaction; after a throw the file is as before.
    ///
    /// - Parameters:
    ///   - entries: UTF-8, one JSON object per line, without a newline at the end; empty for none.
    ///   - first: The revision of the first commit, one after `lastRevision`.
    ///   - last: The revision of the last one; `first - 1` for a group without commits.
    ///   - time: Milliseconds since 1970.
    ///   - reserved: The revision through which commits may have been made, if the run does not end in order, of which nothing
    ///     is in the file; nil: no more than before.
    package func append(
        _ entries: UnsafeRawBufferPointer, first: Int, last: Int, time: Int, reserving reserved: Int? = nil
    ) throws(LogFailure) {
        let group = nextGroup(entries, first: first, last: last, time: time)
        if let tail, reserved == nil, tail.takes(entries.count) { return try append(group, to: tail) }
        try append(group) { insertion throws(LogFailure) in
            guard let reserved else { return try group.insert(with: insertion) }
            try database.transaction { () throws(LogFailure) in
                try group.insert(with: insertion)
                try Meta.set([(Self.reserved, "\(reserved)")], in: database)
            }
        }
    }

    private static let reserved = "reserved"

    /// What moves pages on another thread from now on, whenever `wantsCheckpoint`; nil in another storage. It must not run any
    /// more when the file is closed.
    package func makeCheckpointer() throws(LogFailure) -> Checkpointer? {
        guard let place = storage.place else { return nil }
        let checkpointer = try Checkpointer(place, urgent: checkpoints.urgentBesideCheckpointer)
        checkpoints.checkpointer = checkpointer
        return checkpointer
    }

    /// Whether the checkpointer has something to do.
    package var wantsCheckpoint: Bool { checkpoints.isWanted }

    /// Pages in the write-ahead log; fewer than before when it has begun again.
    package var pagesAhead: Int { checkpoints.count }

    /// The group that comes next.
    func nextGroup(_ entries: UnsafeRawBufferPointer, first: Int, last: Int, time: Int) -> Group {
        precondition(first == lastRevision + 1 && last >= lastRevision, "A group follows the one before.")
        return Group(
            number: number + 1, first: first, last: last, time: time, start: written, entries: entries)
    }

    /// Writes what comes next in one transaction.
    ///
    /// - Parameters:
    ///   - group: The next group, if one is part of it.
    ///   - write: Receives the statement that inserts groups.
    func append(_ group: Group?, _ write: (Statement) throws(LogFailure) -> Void) throws(LogFailure) {
        try usable()
        try checkpointIfDue()
        try setFull(mode == .always)
        if mode == .always, group.map({ $0.entries.count <= WriteAheadRoom.mostEntries }) ?? true {
            checkpoints.makeRoom()
        }
        do throws(LogFailure) { try write(insertion) } catch { throw overwriteFailed(error) }
        try requireWriteAheadLog()
        if mode == .always { wroteDurably() } else { wroteUnsynced() }
        if let group { appended(group) }
    }

    /// Records that a group was written, and is on disk if it has to be.
    func appended(_ group: Group) {
        number += 1
        written += group.entries.count
        if group.last > lastRevision { reached(group.last) }
    }

    /// Records how far the history has come.
    func reached(_ revision: Int) {
        lastRevision = revision
        lock?.reached(revision)
    }

    /// No client may be notified of commits in a write-ahead log that no start finds, or that lacks some.
    func requireWriteAheadLog() throws(LogFailure) {
        guard let ahead else { return }
        switch ahead.look() {
        case .whole: break
        case .taken: throw saveWriteAheadLog(ahead)
        case .cut: throw leaveCutWriteAheadLog(ahead)
        }
    }

    /// Somebody has cut the write-ahead log, and what SQLite writes behind the cut leaves a hole. Nothing of it may be moved
    /// into the file, which ends at the last checkpoint and is whole.
    private func leaveCutWriteAheadLog(_ ahead: WriteAheadLog) -> LogFailure {
        ahead.leave()
        return lose(
            "The write-ahead log of \(path) was cut while in use, and acknowledged commits with it; restart the daemon, which "
                + "continues with what is left and says so to its clients.")
    }

    /// The write-ahead log's name is gone, or another file's, but it is still open here: its contents are moved
    /// into the file, so that the next start finds all that was acknowledged. The file that replaced it must not
    /// be read as its continuation.
    private func saveWriteAheadLog(_ ahead: WriteAheadLog) -> LogFailure {
        let isSaved = checkpoints.runAll()
        if isSaved { ahead.remove() }
        return lose(
            "The write-ahead log of \(path) was moved or deleted while in use; restart the daemon, which continues with "
                + (isSaved ? "all that was acknowledged." : "what is in the log itself."))
    }

    /// Refuses everything from now on, until the file is opened again. Returns the failure that says why.
    func lose(_ reason: String) -> LogFailure {
        let failure = LogFailure(.lost, path: path, reason)
        end = failure
        return failure
    }

    /// Syncs everything written to disk.
    ///
    /// - Throws: `lost` if that fails. It is unknown then which of the bytes are on disk, and no later attempt would
    ///   show it, so the file refuses everything until it is opened again.
    package func sync() throws(LogFailure) {
        guard let sync = try beginSync() else { return }
        try endSync(sync, error: sync.run())
    }

    /// Begins a sync of everything written; run it, and report the result with `endSync`. Nil if there is nothing to wait for.
    ///
    /// - Throws: As `sync`.
    package func beginSync() throws(LogFailure) -> LogSync? {
        try usable()
        if transactions.synced == transactions.written { return nil }
        if aheadDescriptor == nil {
            aheadDescriptor = storage.place.flatMap { WriteAheadLogDescriptor(of: $0) }
        }
        if let aheadDescriptor {
            return LogSync(
                descriptor: aheadDescriptor, transactions: transactions.written, place: copy?.reached)
        }
        let code = sqlite_sync_wal(database.handle)
        guard code == SQLITE_OK else {
            throw loseSync(String(cString: sqlite3_errstr(code)), database.failure(code).kind)
        }
        everythingIsSynced()
        return nil
    }

    /// Ends a sync that has run.
    ///
    /// - Throws: As `sync`.
    package func endSync(_ sync: LogSync, error: Int32) throws(LogFailure) {
        guard error == 0 else { throw loseSync(String(cString: strerror(error)), .io) }
        transactions.synced = max(transactions.synced, sync.transactions)
        if let place = sync.place { copy?.synced(through: place) }
    }

    func loseSync(_ reason: String, _ kind: LogFailure.Kind) -> LogFailure {
        let failure = lose(
            "What was last written to the log \(path) may not be on disk; look at the disk with dmesg, then restart "
                + "the daemon (\(reason)).")
        // If the machine stays up, this says at the next start what happened.
        try? Meta.set([("failed", "\(kind)")], in: database)
        return failure
    }

    /// Checks whether there is room again after `full`: writes a MiB durably and removes it, or throws.
    package func probe() throws(LogFailure) {
        try usable()
        try setFull(true)
        do throws(LogFailure) {
            try database.execute("INSERT OR REPLACE INTO snapshot_parts VALUES(-1, 0, zeroblob(1048576))")
            try database.execute("DELETE FROM snapshot_parts WHERE revision = -1")
        } catch {
            throw meant(by: error)
        }
        wroteDurably()
        try renewFailedTail()
    }

    /// Ends the run: everything is on disk, in the one file, and marked as whole. It must not be used afterwards.
    package func close() throws(LogFailure) {
        try usable()
        try setFull(true)
        try Meta.set(
            [("clean", "1"), Meta.hasTail(false)]
                + (try Meta.text(Self.reserved, in: database).map { _ in [(Self.reserved, "0")] } ?? []),
            in: database)
        _ = lose("The log \(path) was closed; open it again.")
        let isWhole = checkpoints.runAll()
        tail?.remove()
        checkpoints.checkpointer?.close()
        if isWhole, let ahead, case .taken = ahead.look() { ahead.remove() }
    }

    /// Pages of 4 KiB in the write-ahead log after which they are moved into the file. Tests set fewer, so that
    /// crashes happen during a checkpoint.
    package var checkpointPages: Int {
        get { Int(checkpoints.due) }
        set { checkpoints.due = Int32(newValue) }
    }

    // MARK: - For the other parts

    /// Before the database is used: brings into it what is only in the tail.
    ///
    /// - Throws: Also once the file can't be used any more.
    func usable() throws(LogFailure) {
        try requireFiles()
        // What is written next would fill the gap with a hole, which has the length that there should be.
        if let ahead, case .cut = ahead.look() { throw leaveCutWriteAheadLog(ahead) }
        try settleTail()
    }

    /// Throws once the file can't be used any more, or has been removed, which would void every guarantee.
    func requireFiles() throws(LogFailure) {
        if let end { throw end }
        if sqlite_has_moved(database.handle) != 0 {
            throw LogFailure(
                .lost, path: path,
                "The log \(path) was moved or deleted while in use; put it back, or restart the daemon.")
        }
    }

    /// Whether each transaction is on disk when it returns. If not, order and consistency still hold.
    func setFull(_ full: Bool) throws(LogFailure) {
        if isFull == full, isSyncChosen { return }
        try database.execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        isFull = full
        isSyncChosen = true
    }

    /// Writes one transaction, which must change something: it is on disk when this returns, and so is everything before it.
    func writeDurably(_ write: () throws(LogFailure) -> Void) throws(LogFailure) {
        try checkpointIfDue()
        try setFull(true)
        do throws(LogFailure) { try write() } catch { throw overwriteFailed(error) }
        try requireWriteAheadLog()
        wroteDurably()
    }

    /// Records that a transaction was committed without a sync.
    func wroteUnsynced() { transactions.written += 1 }

    /// Records that a transaction was committed and synced, and with it everything before.
    func wroteDurably() {
        transactions.written += 1
        everythingIsSynced()
    }

    private func everythingIsSynced() {
        transactions.synced = transactions.written
        tail?.restart()
        if let copy { copy.synced(through: copy.reached) }
    }
}
