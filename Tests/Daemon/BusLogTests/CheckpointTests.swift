import BusLog
import Dispatch
import Glibc
import Synchronization
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
            #expect(!file.isCheckpointDue, "revision \(revision)")
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
