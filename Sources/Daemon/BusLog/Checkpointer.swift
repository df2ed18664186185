import CSQLite
import Synchronization

/// Moves pages from the write-ahead log into the file on another thread, while groups go on being written: a checkpoint of
/// megabytes takes tens of milliseconds, for which nobody would be answered.
///
/// While writing never pauses, it can't reach the end of the write-ahead log; what little it has left, the writer then moves
/// between two groups (`Checkpoints`).
///
/// `@unchecked Sendable`: the connection is used under `isRunning`.
package final class Checkpointer: @unchecked Sendable {
    /// Nil once it is closed.
    private var database: Database?
    private let ahead: WriteAheadLog
    private let isRunning = Mutex(())
    /// How many frames of the write-ahead log are in the file.
    private let frames = Atomic<Int32>(0)

    /// - Parameter place: The log's path without symbolic links; the log is open.
    init(_ place: String) throws(LogFailure) {
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
            if code == SQLITE_OK { frames.store(moved, ordering: .releasing) }
        }
    }

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
