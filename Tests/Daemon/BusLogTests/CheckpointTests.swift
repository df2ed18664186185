import BusLog
import CSQLite
import Dispatch
import Glibc
import Synchronization
import TestStorage
import Testing

/// Pages are moved into the file beside the writer, which moves little of them itself.
@Suite(.timeLimit(.minutes(10))) struct CheckpointTests {
    private static func append(_ revision: Int, to file: LogFile, bytes: Int = 20_000) throws {
        let text = String(repeating: "x", count: bytes)
        try file.append(
            "{\"revision\":\(revision),\"x\":\"\(text)\"}", first: revision, last: revision, time: 1)
    }

    /// No group waits while the other one keeps up: what the writer has to move is never due.
    @Test func writerIsNotHeldUpWhileTheCheckpointerKeepsUp() throws {
        let directory = Scratch()
        let file = try directory.open(.interval)
        file.checkpointPages = 100
        try file.begin(epoch: "e")
        let checkpointer = try #require(try file.makeCheckpointer())
        var runs = 0
        for revision in 1...300 {
            #expect(!file.isSlow(0), "revision \(revision)")
            try Self.append(revision, to: file)
            if file.wantsCheckpoint {
                checkpointer.run()
                runs += 1
            }
        }
        #expect(runs > 5)
        // It begins again whenever all of it is in the file.
        #expect(Scratch.read(directory.path + "-wal").count < 300 * 4120)
        try file.close()
        #expect(try directory.reader().groups().count == 300)
    }

    /// A checkpointer that does nothing does not make the write-ahead log grow without end.
    @Test func writerDoesItAloneIfItMust() throws {
        let directory = Scratch()
        let file = try directory.open(.interval)
        file.checkpointPages = 25
        try file.begin(epoch: "e")
        let checkpointer = try #require(try file.makeCheckpointer())
        for revision in 1...1000 { try Self.append(revision, to: file) }
        #expect(Scratch.read(directory.path + "-wal").count < 3 * 400 * 4120)
        try file.close()
        #expect(try directory.reader().groups().count == 1000)
        withExtendedLifetime(checkpointer) {}
    }

    /// From two threads, in all orders that there are.
    @Test func everythingIsThereHoweverTheyMeet() throws {
        let directory = Scratch()
        let file = try directory.open(.interval)
        file.checkpointPages = 20
        try file.begin(epoch: "e")
        let checkpointer = try #require(try file.makeCheckpointer())
        let isOver = Atomic(false)
        let mover = DispatchGroup()
        DispatchQueue.global().async(group: mover) {
            while !isOver.load(ordering: .acquiring) { checkpointer.run() }
        }
        for revision in 1...2000 { try Self.append(revision, to: file, bytes: 100 * (revision % 50)) }
        isOver.store(true, ordering: .releasing)
        mover.wait()
        try file.close()
        #expect(try directory.reader().groups().map(\.first) == Array(1...2000))
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
    }

    /// Before the write-ahead log begins again, all that was moved has to be on disk. SQLite would see to that in the writer's time.
    @Test func checkpointerSyncsWhatItHasMoved() throws {
        let directory = Scratch()
        let disk = StalledDisk(directory.directory)
        defer { disk.remove() }
        let file = try directory.open(.interval)
        try file.begin(epoch: "e")
        let checkpointer = try #require(try file.makeCheckpointer())
        // Twice as much as it leaves unsynced, and a reader behind whose place nothing is moved: at the end SQLite syncs by itself.
        for revision in 1...320 { try Self.append(revision, to: file, bytes: 100_000) }
        var reader: OpaquePointer?
        #expect(sqlite3_open_v2(directory.path, &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        defer { sqlite3_close(reader) }
        #expect(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM meta", nil, nil, nil) == SQLITE_OK)
        try Self.append(321, to: file)
        let before = disk.syncs(of: directory.path)
        checkpointer.run()
        #expect(disk.syncs(of: directory.path) == before + 1)
    }

    /// One whose write-ahead log was taken away or cut moves nothing of it.
    @Test func checkpointerLeavesACutWriteAheadLogAlone() throws {
        let directory = Scratch()
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            let checkpointer = try #require(try file.makeCheckpointer())
            for revision in 1...20 { try Self.append(revision, to: file) }
            let size = Scratch.read(directory.path + "-wal").count
            truncate(directory.path + "-wal", 0)
            truncate(directory.path + "-wal", off_t(size))
            checkpointer.run()
            #expect(throws: LogFailure.self) { try Self.append(21, to: file) }
        }
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
        #expect(try directory.open().mayHaveLost)
    }
}
