import BusLog
import CSQLite
import Glibc
import Testing

/// One daemon owns a log; everybody may read it meanwhile. And whatever else may stand at its path gets a sentence.
@Suite struct OwnershipTests {
    @Test func secondDaemonIsRefusedAndTheFirstGoesOn() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        let failure = #expect(throws: LogFailure.self) { try directory.open() }
        #expect(failure?.kind == .inUse)
        #expect(failure?.message.contains("process \(getpid())") == true)
        try file.append("{}", first: 1, last: 1, time: 1)
        #expect(throws: LogFailure.self) { try directory.open() }
    }

    /// A program that another thread starts has copies of all descriptors until it runs. The log is free all the same as soon as its
    /// owner lets it go.
    @Test func copiesOfDescriptorsKeepNoLog() throws {
        let directory = Scratch()
        var file: LogFile? = try directory.open()
        try file?.begin(epoch: "e")
        var copies: [Int32] = []
        for descriptor in Int32(3)..<4096 {
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            guard count > 0 else { continue }
            let path = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // What it has in common with that of a child: the open file, and so the lock.
            if path == directory.path || path == directory.path + "-lock" { copies.append(dup(descriptor)) }
        }
        #expect(copies.count >= 2)
        file = nil
        defer { for copy in copies { close(copy) } }
        let next = try directory.open()
        try next.append("{}", first: 1, last: 1, time: 1)
    }

    /// A program that is started inherits no descriptor of a log, nor of who reads it or moves its pages.
    @Test func noDescriptorIsInherited() throws {
        let directory = Scratch()
        let file = try directory.open(.interval)
        try file.begin(epoch: "e")
        try file.append("{}", first: 1, last: 1, time: 1)
        let checkpointer = try #require(try file.makeCheckpointer())
        checkpointer.run()
        try file.sync()
        let reader = try directory.reader()
        #expect(try reader.groups().count == 1)
        var found: Set<String> = []
        for descriptor in Int32(3)..<4096 {
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            guard count > 0 else { continue }
            let path = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard path.hasPrefix(directory.directory + "/") else { continue }
            found.insert(String(path.dropFirst(directory.path.count)))
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(path)")
        }
        #expect(found.isSuperset(of: ["", "-lock", "-wal", "-shm"]), "\(found)")
        withExtendedLifetime((file, checkpointer, reader)) {}
    }

    @Test func anotherNameOfTheLogIsTheSameLog() throws {
        let directory = Scratch()
        let file = try directory.open()
        symlink(directory.path, directory.directory + "/other")
        let failure = #expect(throws: LogFailure.self) {
            try LogFile(path: directory.directory + "/other", sync: .always, bootID: "boot")
        }
        #expect(failure?.kind == .inUse)
        withExtendedLifetime(file) {}
    }

    @Test func hardLinkOfTheLogIsTheSameLog() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        let other = directory.directory + "/other.sqlite"
        #expect(link(directory.path, other) == 0)
        let failure = #expect(throws: LogFailure.self) {
            try LogFile(path: other, sync: .always, bootID: "boot")
        }
        #expect(failure?.kind == .inUse)
        #expect(failure?.message.contains("by another name") == true)
        // Nothing is left of the attempt, and the owner still has it.
        #expect(
            directory.names == [
                "bus.sqlite", "bus.sqlite-lock", "bus.sqlite-shm", "bus.sqlite-wal", "other.sqlite",
            ])
        try file.append("{}", first: 1, last: 1, time: 1)
    }

    @Test func deletedLockFileFreesNoLog() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for _ in 0..<2 {
            unlink(directory.path + "-lock")
            let failure = #expect(throws: LogFailure.self) { try directory.open() }
            #expect(failure?.kind == .inUse)
        }
        try file.append("{}", first: 1, last: 1, time: 1)
    }

    /// What another process has locked, with none of ours to say so.
    @Test func lockOnTheLogItselfHolds() throws {
        let directory = Scratch()
        try directory.write { _ in }
        let stranger = open(directory.path, O_RDONLY | O_CLOEXEC)
        #expect(flock(stranger, LOCK_EX | LOCK_NB) == 0)
        #expect(#expect(throws: LogFailure.self) { try directory.open() }?.kind == .inUse)
        // A program that another test starts has a copy for a moment, which would keep the lock.
        flock(stranger, LOCK_UN)
        close(stranger)
        #expect(try directory.open().lastRevision == 0)
    }

    @Test func refusedPathLeavesNothingBehind() throws {
        let directory = Scratch()
        directory.bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(throws: LogFailure.self) { try directory.open() }
        #expect(directory.names == ["bus.sqlite"])
        mkfifo(directory.directory + "/fifo", 0o600)
        #expect(throws: LogFailure.self) {
            try LogFile(path: directory.directory + "/fifo", sync: .always, bootID: "boot")
        }
        #expect(directory.names == ["bus.sqlite", "fifo"])
    }

    /// The lock goes with the owner, and a file left by an earlier one is no lock.
    @Test func nextDaemonOwnsItOnceTheFirstIsGone() throws {
        let directory = Scratch()
        try directory.write { try $0.append("{}", first: 1, last: 1, time: 1) }
        #expect(directory.names.contains("bus.sqlite-lock"))
        #expect(try directory.open().lastRevision == 1)
    }

    @Test func readersComeAndGoWithoutDisturbingTheOwner() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...20 {
            try file.append("{}", first: revision, last: revision, time: 1)
            // Its end closes descriptors of the file in this process, with which locks could go.
            #expect(try directory.reader().groups().count == revision)
        }
        #expect(throws: LogFailure.self) { try directory.open() }
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
    }

    @Test func logIsReadableWithoutADaemon() throws {
        let directory = Scratch()
        try directory.write { try $0.append("{}", first: 1, last: 1, time: 1) }
        #expect(try directory.reader().groups().count == 1)
        #expect(try directory.reader().epoch() == "e")
        #expect(try directory.open().lastRevision == 1)
    }

    @Test func fileOfAnotherProgramIsLeftAlone() throws {
        let directory = Scratch()
        _ = try directory.query("CREATE TABLE other(a); PRAGMA application_id = 7")
        let before = directory.bytes
        let failure = #expect(throws: LogFailure.self) { try directory.open() }
        #expect(failure?.kind == .notALog)
        #expect(directory.bytes == before)
        #expect(throws: LogFailure.self) { try directory.reader() }
    }

    @Test func garbageIsNoLog() throws {
        let directory = Scratch()
        directory.bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(#expect(throws: LogFailure.self) { try directory.open() }?.kind == .notALog)
        #expect(#expect(throws: LogFailure.self) { try directory.reader() }?.kind == .notALog)
    }

    @Test func directoryIsNoLog() throws {
        let directory = Scratch()
        let failure = #expect(throws: LogFailure.self) {
            try LogFile(path: directory.directory, sync: .always, bootID: "boot")
        }
        #expect(access(directory.directory + "-lock", F_OK) != 0)
        #expect(failure?.kind == .notALog)
    }

    @Test func absentDirectoryIsNamed() throws {
        let directory = Scratch()
        let path = "\(directory.directory)/absent/bus.sqlite"
        let failure = #expect(throws: LogFailure.self) {
            try LogFile(path: path, sync: .always, bootID: "boot")
        }
        #expect(
            failure?.message
                == "The log \(path) has no place; make the directory for it, or name another file in log.path "
                + "(No such file or directory).")
        #expect(#expect(throws: LogFailure.self) { try directory.reader() }?.kind == .notALog)
    }

    @Test func laterFormIsRefused() throws {
        let directory = Scratch()
        try directory.write { _ in }
        _ = try directory.query("PRAGMA user_version = 3")
        #expect(#expect(throws: LogFailure.self) { try directory.open() }?.kind == .newerForm)
        #expect(#expect(throws: LogFailure.self) { try directory.reader() }?.kind == .newerForm)
    }

    @Test func fileThatIsTakenAwayAcceptsNothingMore() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        rename(directory.path, directory.path + "-elsewhere")
        let failure = #expect(throws: LogFailure.self) { try file.append("{}", first: 1, last: 1, time: 1) }
        #expect(failure?.kind == .lost)
    }

    /// A file may come from anywhere; nothing in it runs.
    @Test func triggersInTheFileDoNotRun() throws {
        let directory = Scratch()
        try directory.write { try $0.append("{}", first: 1, last: 1, time: 1) }
        try directory.query("CREATE TRIGGER evil AFTER INSERT ON groups BEGIN DELETE FROM groups; END")
        try directory.write { try $0.append("{}", first: 2, last: 2, time: 1) }
        #expect(try directory.reader().groups().count == 2)
    }

    /// Somebody who holds the file's write lock stops the bus for a second, not for ever.
    @Test func strangerWhoWritesIsNamed() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        var stranger: OpaquePointer?
        #expect(sqlite3_open(directory.path, &stranger) == SQLITE_OK)
        defer { sqlite3_close(stranger) }
        #expect(sqlite3_exec(stranger, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        let failure = #expect(throws: LogFailure.self) { try file.append("{}", first: 1, last: 1, time: 1) }
        #expect(failure?.kind == .inUse)
        sqlite3_exec(stranger, "ROLLBACK", nil, nil, nil)
        try file.append("{}", first: 1, last: 1, time: 1)
    }

    /// Root may write everything, so only others can try it.
    @Test(.enabled(if: geteuid() != 0), arguments: [true, false])
    func whatMayNotBeWrittenIsNamed(_ isDirectory: Bool) throws {
        let directory = Scratch()
        try directory.write { _ in }
        if isDirectory { unlink(directory.path + "-lock") }
        chmod(isDirectory ? directory.directory : directory.path, isDirectory ? 0o500 : 0o400)
        let failure = #expect(throws: LogFailure.self) { try directory.open() }
        #expect(failure?.kind == .readOnly)
        #expect(failure?.message.contains("user \(geteuid())") == true)
    }
}
