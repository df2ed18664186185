import BusLog
import CSQLite
import TestStorage
import Testing

/// The file is as large as `bytes` says, and gives back what it does not need.
@Suite struct ShrinkingTests {
    /// So many commits of 20 KiB, with a small snapshot after each fifth.
    private static func open(_ directory: Scratch, commits: Int = 200) throws -> LogFile {
        let file = try directory.open(.never)
        try file.begin(epoch: "e")
        try append(commits, to: file)
        return file
    }

    private static func append(_ commits: Int, to file: LogFile) throws {
        let text = String(repeating: "x", count: 20 << 10)
        for _ in 0..<commits {
            let revision = file.lastRevision + 1
            try file.append(text, first: revision, last: revision, time: revision)
            guard revision % 5 == 0 else { continue }
            try file.beginSnapshot(revision: revision, time: revision)
            try file.addPart("\(revision)")
            try file.endSnapshot()
        }
    }

    private static func trim(_ file: LogFile, bytes: Int) throws {
        while try file.trim(Retention(age: .max, bytes: bytes), now: 1000, budget: 1000) {}
    }

    @Test(arguments: [1 << 20, 2 << 20, 3 << 20])
    func fileIsAsLargeAsBytesSays(_ bytes: Int) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.trim(file, bytes: bytes)
        try file.close()
        #expect(directory.bytes.count <= bytes + bytes / 10)
        // And no more has gone than had to: a snapshot comes after each 100 KiB.
        #expect(directory.bytes.count >= bytes - bytes / 10 - 200 << 10)
        let reader = try directory.reader()
        #expect(
            try reader.groups(after: file.oldestRevision).map(\.first) == Array(file.oldestRevision + 1...200)
        )
        #expect(try reader.snapshot(200) == Array("200".utf8))
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
    }

    /// Index blocks, keys and everything else in it count, too.
    @Test func whatIsNoCommitCountsToo() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        let block = [UInt8](repeating: 1, count: 1 << 20)
        try file.add(IndexBlock(groups: 150...200, terms: block, lists: block))
        try Self.trim(file, bytes: 3 << 20)
        #expect(try file.room().bytes <= 3 << 20)
        #expect(file.oldestRevision > 150)
    }

    @Test func fileThatIsUsedInTurnStaysAsItIs() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        for _ in 0..<10 {
            try Self.append(40, to: file)
            try Self.trim(file, bytes: 2 << 20)
            #expect((try file.room().bytes) <= 2 << 20)
            #expect((try file.room().bytes) >= 3 << 19)
        }
    }

    /// Old commits go by their age, and what they leave is given back but for a quarter.
    @Test func fileShrinksWithItsHistory() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        while try file.trim(Retention(age: 10, bytes: 1 << 30), now: 200, budget: 1000) {}
        let room = try file.room()
        #expect(file.oldestRevision == 190)
        #expect(room.free <= max(64 << 10, room.bytes / 4))
    }

    /// A batch waits for one step at most.
    @Test func eachStepGivesBackFewPages() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        var before = try file.room().bytes
        var steps = 0
        while try file.trim(Retention(age: .max, bytes: 1 << 20), now: 1000, budget: 20) {
            let after = try file.room().bytes
            #expect(before - after <= 65 * 4096)
            if after < before { steps += 1 }
            before = after
        }
        #expect(steps >= 10)
    }

    @Test func compactFileHasNoFreePages() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.trim(file, bytes: 3 << 20)
        #expect(try file.room().free > 0)
        while try file.compact() {}
        #expect(try file.room().free == 0)
        try file.close()
        #expect(try directory.query("PRAGMA freelist_count; PRAGMA integrity_check") == "0\nok\n")
    }

    /// Pages are moved on another thread there, which cuts the file although the bus never closes it.
    @Test func fileIsCutWhileItIsUsed() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        let checkpointer = try #require(try file.makeCheckpointer())
        checkpointer.run()
        try Self.trim(file, bytes: 1 << 20)
        #expect(directory.bytes.count > 2 << 20)
        #expect(checkpointer.isToCut && file.wantsCheckpoint)
        checkpointer.run()
        #expect(!checkpointer.isToCut)
        #expect(directory.bytes.count == (try file.room().bytes))
        try file.close()
    }

    // MARK: - Files of earlier versions

    /// As a file was before free pages were given back.
    private static func makeOld(_ directory: Scratch) throws {
        try directory.query("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM")
        #expect(try directory.query("PRAGMA auto_vacuum") == "0\n")
    }

    @Test func startConvertsASmallFileOfAnEarlierVersion() throws {
        let directory = Scratch()
        try Self.open(directory, commits: 20).close()
        try Self.makeOld(directory)
        let file = try directory.open()
        #expect(file.canShrink)
        #expect(file.epoch == "e" && !file.mayHaveLost && file.notices.isEmpty)
        #expect(try directory.reader().groups().map(\.first) == Array(1...20))
        #expect(directory.mode(of: "bus.sqlite") == 0o600)
        #expect(directory.names == ["bus.sqlite", "bus.sqlite-lock", "bus.sqlite-shm", "bus.sqlite-wal"])
    }

    /// Another program that has the file open would remove the new one's write-ahead log when it closes.
    @Test func fileThatAnotherProgramReadsIsNotConverted() throws {
        let directory = Scratch()
        try Self.open(directory, commits: 20).close()
        try Self.makeOld(directory)
        try directory.query("PRAGMA journal_mode = WAL")
        let reader = try directory.reader()
        let file = try directory.open()
        #expect(!file.canShrink)
        #expect(try reader.groups().count == 20)
        // It works as before, and does not shrink.
        try file.begin(epoch: "e")
        try Self.trim(file, bytes: 1)
        #expect(file.oldestRevision == 20)
        while try file.compact() { Issue.record("There is nothing to give back.") }
    }

    @Test func compactingAClosedLogLeavesItsHistoryAsItIs() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.trim(file, bytes: 3 << 20)
        let oldest = file.oldestRevision
        #expect(throws: LogFailure.self) { try LogFile.compact(directory.path, bootID: "boot") }
        try file.close()
        let groups = try directory.reader().groups(after: oldest)
        _ = consume file
        let outcome = try LogFile.compact(directory.path, bootID: "boot")
        #expect(outcome.after < outcome.before && outcome.notices.isEmpty)
        let next = try directory.open()
        #expect(next.epoch == "e" && !next.mayHaveLost && next.oldestRevision == oldest)
        #expect(try next.room().free == 0)
        #expect(try directory.reader().groups(after: oldest) == groups)
    }

    /// A kill in the middle leaves a journal, which only a writer of the file can roll back.
    @Test func aChangeOfFormThatWasCutShortIsRolledBack() throws {
        let original = Scratch()
        let text = String(repeating: "x", count: 3000)
        try original.write { file in
            for revision in 1...40 { try file.append(text, first: revision, last: revision, time: revision) }
        }
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        let change =
            "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN IMMEDIATE; UPDATE groups SET entries = 'lost'"
        #expect(sqlite3_open(original.path, &database) == SQLITE_OK)
        #expect(sqlite3_exec(database, change, nil, nil, nil) == SQLITE_OK)
        let directory = Scratch()
        for suffix in ["", "-journal"] {
            Scratch.write(Scratch.read(original.path + suffix), to: directory.path + suffix)
        }
        #expect(throws: LogFailure.self) { try LogReader(path: directory.path).groups() }
        let file = try directory.open()
        #expect(file.lastRevision == 40 && !file.mayHaveLost && file.notices.isEmpty)
        #expect(try directory.reader().groups() == (1...40).map { Copy($0...$0, $0, text) })
    }

    /// Also where nobody has noted how far it had come.
    @Test func compactingTheLogOfAKilledDaemonLosesNothing() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...5, to: file)
        let directory = TailedLog.killed(original, ["", "-wal", "-tail"])
        #expect(try LogFile.compact(directory.path, bootID: "boot").notices.isEmpty)
        let next = try directory.open()
        #expect(next.lastRevision == 5 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try directory.reader().groups() == TailedLog.groups(1...5))
        withExtendedLifetime(file) {}
    }

    /// It is not known then whether all commits are there, and writing it anew must not hide that.
    @Test func compactingDoesNotHideACrash() throws {
        let directory = Scratch()
        do {
            let file = try directory.open(.interval, boot: "before")
            try file.begin(epoch: "e")
            try Self.append(10, to: file)
        }
        _ = try LogFile.compact(directory.path, bootID: "after")
        #expect(try directory.open(.interval, boot: "after").mayHaveLost)
    }
}
