import BusEngine
import BusHistory
import BusLog
import BusSystem
import Dispatch
import Glibc

/// Writes batches to the log: small ones on the bus queue, which passes its place on if that takes long (`StandIn`), all others
/// on a thread that waits for the disk, so that the queue does not. Syncs and attempts after a failure are the thread's, too.
///
/// A thread and not a queue: it is woken once per batch, and that is most of what a small batch costs beside the disk.
///
/// `@unchecked Sendable`: the file is accessed by the holder of `fileLock`, everything else under `lock`.
final class LogWriter: @unchecked Sendable {
    let file: LogFile
    private let mode: SyncMode
    private let mailbox: LogMailbox
    /// Nil where the file's storage has none: then pages are moved between batches.
    private let checkpoints: CheckpointThread?
    /// Syncs while batches go on being written; nil with modes that need none.
    private let syncer: Worker?
    /// A batch waits for one piece of a snapshot or of trimming at most, and such a piece for one batch.
    private let fileLock = FairLock()

    private let lock = ThreadLock()
    private var waiting: SealedBatch?
    private var isWriting = false
    private var isEnding = false
    private let hasEnded = DispatchSemaphore(value: 0)
    /// After how many milliseconds there is work although nothing comes; nil: there is none. Changed under both locks.
    private var beat: Int?

    // Under `fileLock`.
    /// The bytes of the batches that were written, and that no sync is under way for.
    private var unsynced = 0
    /// When the first of them was written, in milliseconds.
    private var unsyncedSince = 0
    /// The same of the batches that are being synced; nil: no sync is under way.
    private var syncingSince: Int?
    /// Another sync is due as soon as that one has ended.
    private var isSyncWanted = false
    private var isInTrouble = false

    /// The interval of syncs and of attempts after a failure, in milliseconds.
    private static let shortBeat = 500
    /// How long groups stay in the tail only, about, in milliseconds: other programs that read the database see them then.
    private static let settlingBeat = 60_000
    /// With `interval`, the longest time after which a batch is on disk, in milliseconds, or nothing more is written.
    private static let longestUnsynced = 1000
    /// So many bytes are synced before the beat: a sync takes as long as what it has to write.
    private static let mostUnsynced = 1 << 20

    init(_ file: LogFile, _ mode: SyncMode, _ mailbox: LogMailbox) {
        self.file = file
        self.mode = mode
        self.mailbox = mailbox
        // Without it everything works, and is held up now and then.
        checkpoints = (try? file.makeCheckpointer()).map { CheckpointThread($0) }
        syncer = mode == .interval ? Worker(named: "fluxbus-sync") : nil
        let start = Start(self)
        SystemThread.startNecessary(named: "fluxbus-log") { [hasEnded] in
            // It lets go of the file before anybody hears of its end: the next owner opens it then.
            start.take()?.work()
            hasEnded.signal()
        }
    }

    /// What the thread begins with; nobody else touches it. `@unchecked Sendable`: therefore.
    private final class Start: @unchecked Sendable {
        private var writer: LogWriter?

        init(_ writer: LogWriter) { self.writer = writer }

        func take() -> LogWriter? {
            defer { writer = nil }
            return writer
        }
    }

    // MARK: - From the bus queue

    /// Writes a batch; the mailbox gets the result. One at a time.
    func write(_ group: SealedBatch) {
        lock.locked {
            waiting = group
            lock.signal()
        }
    }

    /// Writes a batch before it returns, if nothing else is done with the file and this takes no longer than usual; nil otherwise.
    /// Not while another is being written.
    func writeAtOnce(_ group: SealedBatch) -> LogFileEvent? {
        guard group.shared == nil, fileLock.acquireIfFree() else { return nil }
        defer { fileLock.release() }
        guard !isInTrouble, !file.isSlow(group.entries.count), !isSyncLate,
            syncer == nil || unsynced < Self.mostUnsynced
        else {
            return nil
        }
        return append(group)
    }

    /// Waits until no batch is being written.
    func drain() {
        lock.locked {
            while waiting != nil || isWriting { lock.wait() }
        }
    }

    /// Moves what is only in the tail into the database, so that readers that are open already see it. Returns false if that fails.
    func settle() -> Bool {
        fileLock.acquire()
        defer { fileLock.release() }
        return (try? file.settle()) != nil
    }

    /// Opens the log to read what has been written so far, while nothing is: what is being written may still be refused.
    func reader() throws(LogFailure) -> LogReader {
        fileLock.acquire()
        defer { fileLock.release() }
        return try LogReader(path: file.path)
    }

    /// The past as of what has been written so far.
    func past() throws(PastFailure) -> LogPast {
        do throws(LogFailure) { return LogPast(try reader()) } catch { throw PastFailure(error) }
    }

    /// Runs `body` with the file, before it returns.
    func withFile<Value>(_ body: (LogFile) throws(LogFailure) -> Value) throws(LogFailure) -> Value {
        fileLock.acquire()
        defer {
            noteCheckpoint()
            fileLock.release()
        }
        return try body(file)
    }

    /// Something else could not be written to the file: the mailbox hears when there is room again.
    func noteTrouble() {
        fileLock.acquire()
        isInTrouble = true
        changeBeat()
        fileLock.release()
    }

    /// Ends the run. Nothing is written afterwards.
    func close() throws(LogFailure) {
        drain()
        lock.locked {
            isEnding = true
            lock.signal()
        }
        hasEnded.wait()
        hasEnded.signal()
        checkpoints?.end()
        syncer?.drain()
        try withFile { (file) throws(LogFailure) in try file.close() }
    }

    // MARK: - On the thread

    private func work() {
        var nextBeat = Int.max
        while true {
            var group: SealedBatch?
            var ends = false
            lock.locked {
                while waiting == nil, !isEnding {
                    // An idle log sleeps; only what is unsynced, unsettled or has failed has a beat.
                    nextBeat = beat.map { min(nextBeat, MonotonicClock.milliseconds + $0) } ?? .max
                    let rest = nextBeat == .max ? nil : nextBeat - MonotonicClock.milliseconds
                    if let rest, rest <= 0 { break }
                    if let rest { lock.wait(milliseconds: rest) } else { lock.wait() }
                }
                group = waiting
                waiting = nil
                isWriting = group != nil
                ends = isEnding
            }
            if let group {
                write(now: group)
                lock.locked {
                    isWriting = false
                    lock.signal()
                }
            }
            if ends { break }
            if MonotonicClock.milliseconds >= nextBeat {
                nextBeat = .max
                takeBeat()
            }
        }
    }

    private func write(now group: SealedBatch) {
        fileLock.acquire()
        if isSyncLate {
            fileLock.release()
            syncer?.drain()
            fileLock.acquire()
        }
        mailbox.put(append(group))
        syncIfDue(from: Self.mostUnsynced)
        fileLock.release()
    }

    private func takeBeat() {
        fileLock.acquire()
        defer { fileLock.release() }
        if isInTrouble {
            do throws(LogFailure) {
                try file.probe()
                isInTrouble = false
                mailbox.put(.roomAgain)
            } catch {
                return
            }
        }
        syncIfDue(from: 1)
        // Until that succeeds, groups are in the tail.
        try? file.settle()
        changeBeat()
    }

    /// Whether the sync under way takes too long: a crash of the machine would lose more than it may.
    private var isSyncLate: Bool {
        syncingSince.map { MonotonicClock.milliseconds - $0 > Self.longestUnsynced } ?? false
    }

    /// Starts a sync if at least `bytes` have been written since the last one began. While one is under way, another follows it.
    private func syncIfDue(from bytes: Int) {
        guard unsynced >= bytes, let syncer else { return }
        if syncingSince != nil {
            isSyncWanted = true
            return
        }
        do throws(LogFailure) {
            unsynced = 0
            guard let sync = try file.beginSync() else { return }
            syncingSince = unsyncedSince
            syncer.async { [self] in run(sync) }
        } catch {
            mailbox.put(.unsynced(error))
        }
    }

    /// On the syncer's thread.
    private func run(_ sync: LogSync) {
        let began = MonotonicClock.nanoseconds
        let result = sync.run()
        fileLock.acquire()
        defer { fileLock.release() }
        syncingSince = nil
        do throws(LogFailure) {
            try file.endSync(sync, error: result)
            mailbox.put(.synced(took: MonotonicClock.nanoseconds - began))
        } catch {
            return mailbox.put(.unsynced(error))
        }
        if isSyncWanted {
            isSyncWanted = false
            syncIfDue(from: 1)
        }
        changeBeat()
    }

    // MARK: - With the file

    private func append(_ group: SealedBatch) -> LogFileEvent {
        let began = MonotonicClock.nanoseconds
        do throws(LogFailure) {
            if let shared = group.shared {
                try shared.bytes.span.withUnsafeBytes { (bytes) throws(LogFailure) in
                    try file.append(
                        group.entries.bytes, first: group.first, last: group.last, time: group.time,
                        shared: (shared.place, bytes))
                }
            } else {
                try file.append(
                    group.entries.bytes, first: group.first, last: group.last, time: group.time,
                    reserving: group.reserved)
            }
            let isFirst = unsynced == 0
            unsynced += max(1, group.entries.count)
            if isFirst {
                unsyncedSince = MonotonicClock.milliseconds
                changeBeat()
            } else if beat == nil, file.hasUnsettled {
                changeBeat()
            }
            noteCheckpoint()
            return .written(took: MonotonicClock.nanoseconds - began)
        } catch {
            isInTrouble = true
            changeBeat()
            return .notWritten(error)
        }
    }

    private func noteCheckpoint() {
        if file.wantsCheckpoint { checkpoints?.want() }
    }

    /// The thread sleeps without end, or for a beat.
    private func changeBeat() {
        let isShort = isInTrouble || (unsynced > 0 && syncer != nil)
        let next = isShort ? Self.shortBeat : file.hasUnsettled ? Self.settlingBeat : nil
        lock.locked {
            if let next, next < beat ?? .max { lock.signal() }
            beat = next
        }
    }
}
