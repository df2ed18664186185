import BusLog
import CSQLite
import Synchronization
import TestStorage
import TestSupport
import Testing

/// A tail on a disk that is full or fails.
@Suite struct TailFailureTests {
    private static func open(_ disk: SimulatedDisk) throws -> LogFile {
        let file = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: disk.name)
        try file.begin(epoch: "e")
        try file.useTail()
        return file
    }

    private static func append(_ revision: Int, to file: LogFile) throws(LogFailure) {
        try file.append("{\"revision\":\(revision)}", first: revision, last: revision, time: 1)
    }

    /// Commits go on while the database has no room, and whoever reads sees them.
    @Test func aFullDiskDoesNotStopIt() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        disk.fail { _, path in path == "log-tail" ? nil : SQLITE_FULL }
        for revision in 1...50 { try Self.append(revision, to: file) }
        #expect(throws: LogFailure.self) { try file.settle() }
        #expect(throws: LogFailure.self) { try file.probe() }
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == 50)
        try Self.append(51, to: file)
        disk.fail(nil)
        try file.settle()
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == 51)
        let killed = disk.killed()
        let next = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: killed.name)
        #expect(next.lastRevision == 51)
    }

    /// Until it is full: then an append fails, and leaves nothing behind.
    @Test func aFullTailOnAFullDiskRefuses() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        disk.fail { _, path in path == "log-tail" ? nil : SQLITE_FULL }
        var last = 0
        let failure = #expect(throws: LogFailure.self) {
            for revision in 1...10_000 {
                try Self.append(revision, to: file)
                last = revision
            }
        }
        #expect(failure?.kind == .full && last > 1000 && file.lastRevision == last)
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == last)
        disk.fail(nil)
        try file.probe()
        try Self.append(last + 1, to: file)
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == last + 1)
    }

    /// The write went well, its sync and the taking back did not. Once the disk can be written again, nothing of it is left, and
    /// there is a tail again.
    @Test func whatCouldNotBeTakenBackDoesNotComeBack() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        for revision in 1...5 { try Self.append(revision, to: file) }
        let writes = Atomic(0)
        disk.fail { operation, path in
            guard path == "log-tail" else { return nil }
            if operation == .write, writes.add(1, ordering: .relaxed).newValue == 1 { return nil }
            return SQLITE_IOERR
        }
        #expect(throws: LogFailure.self) { try Self.append(6, to: file) }
        let before = disk.killed()
        #expect(
            try LogFile(path: "log", sync: .always, bootID: "boot", vfs: before.name).lastRevision == 6)
        disk.fail(nil)
        try file.probe()
        let after = disk.killed()
        #expect(try LogFile(path: "log", sync: .always, bootID: "boot", vfs: after.name).lastRevision == 5)
        try Self.append(6, to: file)
        #expect(file.hasUnsettled)
        #expect(try LogReader(path: "log", vfs: disk.name).groups().count == 6)
    }

    /// Whether the write fails or its sync: the group must not come back, and those before it stay.
    @Test(arguments: [SimulatedDisk.Operation.write, .sync], [false, true])
    func aGroupThatFailedDoesNotComeBack(_ operation: SimulatedDisk.Operation, _ losesPower: Bool) throws {
        var generator = SeededGenerator(seed: 3)
        for round in 0..<20 {
            let disk = SimulatedDisk()
            let file = try Self.open(disk)
            for revision in 1...round + 1 { try Self.append(revision, to: file) }
            disk.fail { failing, path in failing == operation && path == "log-tail" ? SQLITE_IOERR : nil }
            #expect(throws: LogFailure.self) { try Self.append(round + 2, to: file) }
            disk.fail(nil)
            #expect(file.lastRevision == round + 1)
            let killed = disk.killed()
            let other = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: killed.name)
            #expect(other.lastRevision == round + 1)
            // The next one goes into the database, with all before it.
            try Self.append(round + 2, to: file)
            let after = losesPower ? disk.restarted(using: &generator) : disk.killed()
            let next = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: after.name)
            #expect(next.lastRevision == round + 2)
        }
    }

    /// A sync of the database that fails may lose what was brought there from the tail, unsynced: all of it was acknowledged. So
    /// the tail keeps it, and nothing follows before a restart has looked.
    @Test(arguments: ["append", "probe", "checkpoint"]) func aFailedSyncLosesNothingOfBefore(_ way: String)
        throws
    {
        var generator = SeededGenerator(seed: 5)
        for round in 0..<20 {
            let disk = SimulatedDisk()
            let file = try Self.open(disk)
            for revision in 1...round + 1 { try Self.append(revision, to: file) }
            try file.settle()
            // SQLITE_IOERR_FSYNC
            disk.fail { failing, path in failing == .sync && path == "log-wal" ? SQLITE_IOERR | 4 << 8 : nil }
            let failure = #expect(throws: LogFailure.self) {
                switch way {
                case "append":
                    let text = String(repeating: "x", count: 20_000)
                    try file.append(
                        "{\"revision\":\(round + 2),\"text\":\"\(text)\"}", first: round + 2, last: round + 2,
                        time: 1)
                case "probe": try file.probe()
                default:
                    file.checkpointPages = 1
                    try Self.append(round + 2, to: file)
                    try file.settle()
                }
            }
            disk.fail(nil)
            #expect(failure?.kind == .lost)
            #expect(throws: LogFailure.self) { try file.probe() }
            let last = file.lastRevision
            let after = disk.restarted(using: &generator)
            let next = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: after.name)
            #expect(next.lastRevision == last)
        }
    }
}
