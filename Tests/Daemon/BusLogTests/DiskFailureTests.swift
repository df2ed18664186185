import BusLog
import CSQLite
import Glibc
import Synchronization
import TestStorage
import TestSupport
import Testing

/// A disk that is full or fails: what was acknowledged stays, what threw leaves nothing, and it goes on when there is
/// room again.
@Suite struct DiskFailureTests {
    private static func open(_ disk: SimulatedDisk, _ mode: SyncMode = .always) throws(LogFailure) -> LogFile
    {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot", vfs: disk.name)
        try file.begin(epoch: "e")
        return file
    }

    /// Counts down from several threads.
    final class Countdown: Sendable {
        private let left: Atomic<Int>
        init(_ count: Int) { left = Atomic(count) }
        func next() -> Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
    }

    /// Lets so many operations go well, and fails all after them.
    private static func fail(_ disk: SimulatedDisk, after count: Int, _ code: Int32) {
        let countdown = Countdown(count)
        disk.fail { _, _ in countdown.next() ? nil : code }
    }

    /// Wherever within an append it happens: in a write, in its sync, in the growth of shared memory.
    @Test(arguments: [SQLITE_FULL, SQLITE_IOERR], 0..<12)
    func failedAppendLeavesNothingBehind(_ code: Int32, _ operation: Int) throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append("{\"revision\":1}", first: 1, last: 1, time: 1)
        Self.fail(disk, after: operation, code)
        // Several, so that each place is met; each fails for good or is there.
        var written = 1
        var failure: LogFailure?
        for _ in 0..<12 {
            do throws(LogFailure) {
                try file.append("{}", first: written + 1, last: written + 1, time: 2)
                written += 1
            } catch {
                failure = error
            }
        }
        #expect(failure?.kind == (code == SQLITE_FULL ? .full : .io))
        #expect(file.lastRevision == written)
        #expect(throws: LogFailure.self) { try file.probe() }
        disk.fail(nil)
        try file.probe()
        try file.append("{\"later\":true}", first: written + 1, last: written + 1, time: 3)
        let killed = disk.killed()
        let next = try Self.open(killed)
        #expect(next.lastRevision == written + 1)
        #expect(try LogReader(path: "log", vfs: disk.name).groups().last?.entries == "{\"later\":true}")
    }

    /// When only the sync failed, the whole transaction stands behind the last good one. It must not come back.
    @Test func appendWhoseSyncFailedDoesNotComeBackAfterAKill() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append("{\"revision\":1}", first: 1, last: 1, time: 1)
        disk.fail { operation, _ in operation == .sync ? SQLITE_IOERR | 4 << 8 : nil }
        #expect(throws: LogFailure.self) { try file.append("{\"revision\":2}", first: 2, last: 2, time: 2) }
        disk.fail(nil)
        let killed = disk.killed()
        let next = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: killed.name)
        #expect(next.lastRevision == 1)
    }

    /// What the kernel did not bring to disk it forgets to be missing: the next sync would succeed and lie.
    @Test func failedSyncIsNotBelievedLater() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk, .interval)
        try file.append("{\"revision\":1}", first: 1, last: 1, time: 1)
        disk.fail { operation, _ in operation == .sync ? SQLITE_IOERR | 4 << 8 : nil }
        let first = #expect(throws: LogFailure.self) { try file.sync() }
        #expect(first?.kind == .lost)
        disk.fail(nil)
        let second = #expect(throws: LogFailure.self) { try file.sync() }
        #expect(second?.kind == .lost)
        #expect(throws: LogFailure.self) { try file.append("{}", first: 2, last: 2, time: 2) }
        let killed = disk.killed()
        let next = try LogFile(path: "log", sync: .interval, bootID: "boot", vfs: killed.name)
        #expect(next.mayHaveLost)
    }

    /// A sync that runs beside the writing vouches for what was written before it began, and for nothing else.
    @Test func syncBesideTheWritingCoversWhatWasThere() throws {
        let directory = Scratch()
        let file = try directory.openCopy(.interval)
        try file.append(Batch(3, "one"))
        let sync = try #require(try file.beginSync())
        try file.append(Batch(7, "two"))
        #expect(file.sharedPlace() == 0)
        try file.endSync(sync, error: sync.run())
        #expect(file.sharedPlace() == 3)
        let next = try #require(try file.beginSync())
        try file.endSync(next, error: next.run())
        #expect(file.sharedPlace() == 7)
        #expect(try file.beginSync() == nil)
        // A full transaction meanwhile has synced more than an older sync says.
        try file.append(Batch(8, "three"))
        let older = try #require(try file.beginSync())
        try file.append(Batch(9, "four"))
        try file.probe()
        try file.endSync(older, error: 0)
        #expect(file.sharedPlace() == 9)
        #expect(try file.beginSync() == nil)
    }

    @Test func failureOfASyncBesideTheWritingEndsTheLog() throws {
        let directory = Scratch()
        let file = try directory.open(.interval)
        try file.begin(epoch: "e")
        try file.append("{\"revision\":1}", first: 1, last: 1, time: 1)
        let sync = try #require(try file.beginSync())
        let failure = #expect(throws: LogFailure.self) { try file.endSync(sync, error: EIO) }
        #expect(failure?.kind == .lost)
        #expect(throws: LogFailure.self) { try file.beginSync() }
        #expect(throws: LogFailure.self) { try file.append("{}", first: 2, last: 2, time: 2) }
    }

    /// Nothing can be moved into the file, but the write-ahead log has room: the bus goes on.
    @Test func failedCheckpointCostsNoAppend() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        disk.fail { operation, path in operation == .write && path == "log" ? SQLITE_FULL : nil }
        let text = String(decoding: [UInt8](repeating: 0x78, count: 1 << 20), as: UTF8.self)
        for revision in 1...24 { try file.append(text, first: revision, last: revision, time: 1) }
        #expect(disk.bytes(of: "log-wal").count > 24 << 20)
        disk.fail(nil)
        for revision in 25...60 { try file.append(text, first: revision, last: revision, time: 1) }
        // It was moved into the file and used again from its beginning.
        #expect(disk.bytes(of: "log-wal").count < 48 << 20)
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == 60)
    }

    @Test func intervalSyncsOnlyWhenAsked() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk, .interval)
        try file.append("{}", first: 1, last: 1, time: 1)
        let before = disk.counts.syncs
        for revision in 2...50 { try file.append("{}", first: revision, last: revision, time: 1) }
        #expect(disk.counts.syncs == before)
        try file.sync()
        try file.sync()
        #expect(disk.counts.syncs == before + 1)
    }

    @Test func alwaysSyncsOncePerAppend() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append("{}", first: 1, last: 1, time: 1)
        let before = disk.counts.syncs
        for revision in 2...50 { try file.append("{}", first: revision, last: revision, time: 1) }
        #expect(disk.counts.syncs == before + 49)
    }

    // MARK: - Zeros behind the write-ahead log

    /// Runs SQL as another program would.
    private static func run(_ sql: String, on disk: SimulatedDisk, then body: () -> Void = {}) {
        var other: OpaquePointer?
        defer { sqlite3_close(other) }
        #expect(sqlite3_open_v2("log", &other, SQLITE_OPEN_READWRITE, disk.name) == SQLITE_OK)
        #expect(sqlite3_exec(other, sql, nil, nil, nil) == SQLITE_OK)
        body()
    }

    /// Its commits would be written over.
    @Test func zerosAreNotWrittenWhileAnotherProgramWrites() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        let before = disk.bytes(of: "log-wal").count
        Self.run("BEGIN IMMEDIATE", on: disk) {
            let failure = #expect(throws: LogFailure.self) {
                try file.append("{}", first: 1, last: 1, time: 1)
            }
            #expect(failure?.kind == .inUse)
            #expect(disk.bytes(of: "log-wal").count == before)
        }
        try file.append("{}", first: 1, last: 1, time: 1)
        #expect(disk.bytes(of: "log-wal").count > before + 200_000)
    }

    /// A write-ahead log that began with zeros would count as damaged.
    @Test func zerosAreNotWrittenBeforeItsHeader() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        for revision in 1...5 {
            if revision == 5 { Self.run("PRAGMA wal_checkpoint(TRUNCATE)", on: disk) }
            try file.append("{}", first: revision, last: revision, time: 1)
        }
        Self.run("PRAGMA wal_checkpoint(TRUNCATE)", on: disk)
        let countdown = Countdown(1)
        disk.fail { operation, _ in operation != .write || countdown.next() ? nil : SQLITE_IOERR }
        #expect(throws: LogFailure.self) { try file.append("{}", first: 6, last: 6, time: 1) }
        #expect(disk.bytes(of: "log-wal").first == 0x37)
    }
}
