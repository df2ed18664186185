import CSQLite
import Synchronization

/// Moves pages from the write-ahead log into the file, when there are enough to be worth it and before there are too
/// many. SQLite's own way would do it after every thousand pages, in the commit that happens to be there.
final class Checkpoints {
    /// Pages after which a checkpoint is due: 8 MiB. Measured, with `always` more of them give no more throughput, and
    /// each doubling doubles the longest stall (24, 43, 64, 96 ms at 4 KiB a group).
    var due: Int32 = 2048
    /// Pages that pass between two attempts, when a reader keeps the first from finishing.
    private var step: Int32 { due / 4 }
    /// Pages from which on the writer moves what a checkpointer has left, or, without one, a checkpoint waits for readers; with
    /// one, it waits from twice as many on.
    private var urgent: Int32 { checkpointer == nil ? 4 * due : urgentBesideCheckpointer }
    var urgentBesideCheckpointer: Int32 { 16 * due }
    /// Pages at which nothing more is written unless a checkpoint succeeds: 512 MiB.
    private var most: Int32 { 64 * due }

    private let database: Database
    /// Pages in the write-ahead log, as SQLite reports them after each commit.
    private let pages: UnsafeMutablePointer<Int32>
    private var tried: Int32 = 0
    private var room = WriteAheadRoom()
    /// Moves pages on another thread; nil where the writer moves all.
    var checkpointer: Checkpointer?
    /// The pages that the writer moves between two groups: a few milliseconds' worth.
    private static let few: Int32 = 256

    init(_ database: Database) {
        self.database = database
        pages = .allocate(capacity: 1)
        pages.initialize(to: 0)
        // A hook of our own replaces SQLite's automatic checkpoints.
        sqlite3_wal_hook(
            database.handle,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, pages)
    }

    deinit {
        sqlite3_wal_hook(database.handle, nil, nil)
        pages.deallocate()
    }

    /// Pages in the write-ahead log.
    var count: Int { Int(pages.pointee) }

    /// Has the next group, which is small, written over zeros.
    func makeRoom() { room.make(behind: count, in: database) }

    /// Whether the next `runIfDue` has something to do, about.
    var isDue: Bool {
        let count = pages.pointee
        guard let checkpointer else { return count >= due }
        let first = checkpointer.isToCut ? due : urgent
        return count >= first && count - checkpointer.moved <= Self.few || count >= 2 * urgent
    }

    /// Free pages at the file's end have been given back: it is cut when all of the write-ahead log is in it, which is tried soon.
    func cutFile() {
        if let checkpointer { checkpointer.wantCut() } else { _ = run(SQLITE_CHECKPOINT_PASSIVE) }
    }

    /// Whether the checkpointer has something to do.
    var isWanted: Bool {
        guard let checkpointer else { return false }
        let count = pages.pointee
        if count < checkpointer.moved { checkpointer.begin() }
        return checkpointer.isToCut || count >= due && count - checkpointer.moved >= min(step, Self.few)
    }

    /// A failure here costs nothing yet, since all is in the write-ahead log; it is thrown
    /// when that has grown too long, or, where something in it is not synced, when it is of a sync.
    func runIfDue(hasUnsynced: Bool) throws(LogFailure) {
        let count = pages.pointee
        if count < tried { tried = 0 }
        guard isDue, count - tried >= min(step, Self.few) || tried == 0 else { return }
        let code: Int32
        if let checkpointer {
            let isLate = count >= 2 * urgent
            let run = { self.run(isLate ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE) }
            // It is behind: it would never come to the end.
            guard let result = isLate ? checkpointer.whenIdle(run) : checkpointer.ifIdle(run) else { return }
            code = result
        } else {
            guard count - tried >= step || tried == 0 else { return }
            code = run(count >= urgent ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE)
        }
        tried = count
        if code != SQLITE_OK, count >= most || hasUnsynced && code == LogFailure.failedSync {
            throw database.failure(code)
        }
    }

    /// At the beginning and the end of a run: moves as much as readers allow. Returns whether that was all.
    @discardableResult
    func runAll() -> Bool {
        let run = { self.run(SQLITE_CHECKPOINT_TRUNCATE) == SQLITE_OK }
        return checkpointer?.whenIdle(run) ?? run()
    }

    private func run(_ mode: Int32) -> Int32 {
        // Longer than a reader of ours holds anything, and short enough that the stall goes unnoticed.
        sqlite3_busy_timeout(database.handle, 100)
        defer { sqlite3_busy_timeout(database.handle, Database.patience) }
        return sqlite3_wal_checkpoint_v2(database.handle, "main", mode, nil, nil)
    }
}

/// Moves pages from the write-ahead log into the file on another thread, while groups go on being written: a checkpoint of
/// megabytes takes tens of milliseconds, for which nobody would be answered.
///
/// While writing never pauses, it can't reach the end of the write-ahead log; what little it has left, the writer then moves
/// between two groups (`Checkpoints`). SQLite syncs the file when all is in it, which then is in the writer's time: so what is
/// moved here is synced here.
///
/// `@unchecked Sendable`: the connection is used under `isRunning`.
package final class Checkpointer: @unchecked Sendable {
    /// Nil once it is closed.
    private var database: Database?
    private let ahead: WriteAheadLog
    private let isRunning = Mutex(())
    /// How many frames of the write-ahead log are in the file, and from how many on all of them are to be on disk, too.
    private let frames = Atomic<Int32>(0)
    private let urgent: Int32
    /// Whether the file is longer than it need be.
    private let isLong = Atomic(false)
    /// How many of them are on disk. Under `isRunning`.
    private var synced: Int32 = 0
    /// Pages in the file that may wait for a sync.
    private let mostUnsynced = Atomic(Checkpointer.atOnce)
    /// 16 MiB; and 1 MiB while the file shrinks, when so much has to be moved that commits would wait for each of these syncs.
    private static let atOnce: Int32 = 4096
    private static let gently: Int32 = 256

    /// - Parameters:
    ///   - place: The log's path without symbolic links; the log is open.
    ///   - urgent: The number of frames from which on the writer moves the last ones, and begins again.
    init(_ place: String, urgent: Int32) throws(LogFailure) {
        self.urgent = urgent
        let database = try Database(path: place, .writing)
        self.database = database
        ahead = WriteAheadLog(of: place, database)
        // The log's owner does that.
        ahead.leave()
        // The index of the write-ahead log is opened with the first read.
        _ = try database.integer("SELECT count(*) FROM meta")
    }

    /// Moves what is there.
    package func run() {
        isRunning.withLock { _ in
            guard let database, case .whole = ahead.look() else { return }
            var (all, moved): (Int32, Int32) = (0, 0)
            let code = sqlite3_wal_checkpoint_v2(
                database.handle, "main", SQLITE_CHECKPOINT_PASSIVE, &all, &moved)
            guard code == SQLITE_OK else { return }
            if moved < synced { synced = 0 }
            let most = moved < urgent && !isToCut ? mostUnsynced.load(ordering: .relaxed) : 1
            if moved - synced >= most, sqlite_sync_file(database.handle) == SQLITE_OK { synced = moved }
            frames.store(moved, ordering: .releasing)
            if isToCut, !isLonger(than: database) { isLong.store(false, ordering: .releasing) }
        }
    }

    /// Whether the file has pages behind its last one. If that can't be known, it has none.
    private func isLonger(than database: Database) -> Bool {
        guard let room = try? FileRoom(database), let (_, size) = FileIdentity.look(at: database.path) else {
            return false
        }
        return size > room.pages * room.pageSize
    }

    /// Has the file cut as soon as all of the write-ahead log is in it.
    func wantCut() { isLong.store(true, ordering: .releasing) }

    /// Whether it syncs little at a time.
    func setGentle(_ isGentle: Bool) {
        mostUnsynced.store(isGentle ? Self.gently : Self.atOnce, ordering: .relaxed)
    }

    /// Whether the file is to be cut.
    package var isToCut: Bool { isLong.load(ordering: .acquiring) }

    /// Closes its connection, before the log's owner closes the last one, which removes the write-ahead log.
    func close() { isRunning.withLock { _ in database = nil } }

    /// How many frames of the write-ahead log are in the file, about.
    var moved: Int32 { frames.load(ordering: .acquiring) }

    /// The write-ahead log begins again.
    func begin() { frames.store(0, ordering: .releasing) }

    /// Runs something while nothing is being moved; at once, or not at all and nil.
    func ifIdle<Value>(_ body: () -> Value) -> Value? { isRunning.withLockIfAvailable { _ in body() } }

    /// The same, as soon as nothing is.
    func whenIdle<Value>(_ body: () -> Value) -> Value { isRunning.withLock { _ in body() } }
}
