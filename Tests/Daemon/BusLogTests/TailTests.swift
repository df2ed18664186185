import BusLog
import CSQLite
import Glibc
import Synchronization
import TestStorage
import TestSupport
import Testing

/// Small groups in front of the database: whoever reads sees them, no crash loses them, and nothing that is left over from before
/// comes back.
@Suite struct TailTests {
    private static func append(_ revisions: ClosedRange<Int>, to file: LogFile) throws {
        for revision in revisions {
            try file.append(text(revision), first: revision, last: revision, time: revision)
        }
    }

    private static func text(_ revision: Int) -> String {
        "{\"revision\":\(revision)}" + String(repeating: "x", count: revision * 37 % 300)
    }

    private static func groups(_ revisions: ClosedRange<Int>) -> [Copy] {
        revisions.map { Copy($0...$0, $0, text($0)) }
    }

    private static func open(_ directory: Scratch) throws -> LogFile {
        let file = try directory.open()
        try file.begin(epoch: "e")
        try file.useTail()
        return file
    }

    private static let suffixes = ["", "-wal", "-tail", "-lock"]

    /// All files of a log whose owner still has it open, as the kernel has them: what is there once that is killed.
    private static func killed(_ original: Scratch, _ suffixes: [String] = suffixes) -> Scratch {
        let directory = Scratch()
        for suffix in suffixes {
            Scratch.write(Scratch.read(original.path + suffix), to: directory.path + suffix)
        }
        return directory
    }

    private static func change(_ directory: Scratch, _ change: (inout [UInt8]) -> Void) {
        var bytes = Scratch.read(directory.path + "-tail")
        change(&bytes)
        Scratch.write(bytes, to: directory.path + "-tail")
    }

    private static func count(in directory: Scratch) throws -> Int {
        Int(try directory.query("SELECT count(*) FROM groups").dropLast()) ?? -1
    }

    @Test func readersSeeWhatIsInTheTailOnly() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.append(1...20, to: file)
        #expect(try Self.count(in: directory) == 0)
        let reader = try directory.reader()
        #expect(try reader.groups() == Self.groups(1...20))
        #expect(try reader.groups(after: 12) == Self.groups(13...20))
        #expect(try reader.groupNumbers() == 1...20)
        #expect(try reader.lastRevision(by: 7) == 7)
        #expect(try [0, 1, 9, 20, 99].map { try reader.group(atOrBefore: $0) } == [nil, 1, 9, 20, 20])
        // One that was opened before goes on in the database with what is moved there.
        try Self.append(21...25, to: file)
        try file.settle()
        #expect(try Self.count(in: directory) == 25)
        #expect(try reader.groups() == Self.groups(1...25))
        try Self.append(26...30, to: file)
        #expect(try reader.groups() == Self.groups(1...25))
        #expect(try directory.reader().groups() == Self.groups(1...30))
        #expect(try [25, 28].map { try directory.reader().group(atOrBefore: $0) } == [25, 28])
        try file.close()
        #expect(try Self.count(in: directory) == 30)
        #expect(!directory.names.contains("bus.sqlite-tail"))
    }

    @Test func itIsLinesOfText() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try file.append("{\"revision\":1}\n{\"revision\":2}", first: 1, last: 2, time: 1_795_915_861_605)
        let bytes = Scratch.read(directory.path + "-tail")
        let lines = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self).split(separator: "\n")
        #expect(lines[0].hasPrefix("FluxBus tail of e: number, first, last, time, start, bytes and digest"))
        #expect(lines[1].hasPrefix("1 1 2 1795915861605 0 29 "))
        #expect(lines[2...] == ["{\"revision\":1}", "{\"revision\":2}"])
        #expect(bytes.count == 256 << 10)
        #expect(directory.mode(of: "bus.sqlite-tail") == 0o600)
        withExtendedLifetime(file) {}
    }

    /// Several times as much as it holds, with groups that are too large for it between.
    @Test func itBeginsAgainWhenItIsFull() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        var groups: [Copy] = []
        for revision in 1...5000 {
            let text = revision % 700 == 0 ? String(repeating: "y", count: 20_000) : Self.text(revision)
            try file.append(text, first: revision, last: revision, time: revision)
            groups.append(Copy(revision...revision, revision, text))
            if revision % 997 == 0 {
                #expect(try directory.reader().groups() == groups)
                let next = try Self.killed(directory).open()
                #expect(next.lastRevision == revision && !next.mayHaveLost && next.notices.isEmpty)
            }
        }
        try file.close()
        #expect(try directory.reader().groups() == groups)
    }

    @Test func aKilledDaemonsTailGoesIntoTheDatabase() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...30, to: file)
        try file.settle()
        try Self.append(31...40, to: file)
        let directory = Self.killed(original)
        let next = try directory.open()
        #expect(next.lastRevision == 40 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try Self.count(in: directory) == 40)
        #expect(!directory.names.contains("bus.sqlite-tail"))
        // A start that is killed before it begins leaves nothing to be missed.
        let after = try Self.killed(directory, ["", "-wal", "-lock"]).open()
        #expect(after.lastRevision == 40 && !after.mayHaveLost && after.notices.isEmpty)
        withExtendedLifetime((file, next)) {}
    }

    /// Also where nobody noted how far it had come, as in a copy of the files.
    @Test(arguments: [["", "-wal", "-lock"], ["", "-wal"]])
    func aMissingTailIsTold(_ suffixes: [String]) throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...30, to: file)
        let directory = Self.killed(original, suffixes)
        for _ in 0..<2 {
            let next = try directory.open()
            #expect(next.lastRevision == 0 && next.mayHaveLost)
            #expect(next.notices.count == 1 && next.notices.first?.contains("tail") == true)
        }
        try directory.open().begin(epoch: "f")
        #expect(try !directory.open().mayHaveLost)
        withExtendedLifetime(file) {}
    }

    /// Each bit of what was written: what is whole is used, and what is missing is told.
    @Test func flippedBitsAreNeverGivenOut() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...12, to: file)
        let used = Scratch.read(original.path + "-tail").lastIndex { $0 != 0 } ?? 0
        var generator = SeededGenerator(seed: 9)
        for place in stride(from: 0, through: used, by: 7) {
            for suffixes in [Self.suffixes, ["", "-wal", "-tail"]] {
                let directory = Self.killed(original, suffixes)
                Self.change(directory) { $0[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                let next = try directory.open()
                let last = next.lastRevision
                #expect(last < 12, "byte \(place)")
                #expect(try directory.reader().groups() == Self.groups(1...12).filter { $0.last <= last })
                // Without a note the last group might be one that was being written when the machine went down.
                #expect(next.mayHaveLost || last == 11 && suffixes.count == 3, "byte \(place)")
                #expect(next.mayHaveLost != next.notices.isEmpty, "byte \(place): \(next.notices)")
            }
        }
        withExtendedLifetime(file) {}
    }

    /// Parts of it in other places, cut off, or other bytes: what is read is a beginning of what was written, and a loss is told.
    @Test func whateverATailHoldsNothingWrongIsRead() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...20, to: file)
        let whole = Scratch.read(original.path + "-tail")
        let used = whole.lastIndex { $0 != 0 } ?? 0
        for seed in 0..<150 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let directory = Self.killed(original)
            Self.change(directory) { bytes in
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let place = Int.random(in: 0..<used, using: &generator)
                    let count = Int.random(in: 1...300, using: &generator)
                    let from = Int.random(in: 0..<used, using: &generator)
                    for offset in 0..<count {
                        bytes[place + offset] =
                            seed % 2 == 0
                            ? whole[from + offset]
                            : Array("0123456789 \n{}".utf8).randomElement(using: &generator)!
                    }
                }
            }
            let next = try directory.open()
            let last = next.lastRevision
            #expect(
                try directory.reader().groups() == Self.groups(1...20).filter { $0.last <= last },
                "seed \(seed)")
            #expect(last == 20 || next.mayHaveLost, "seed \(seed)")
        }
        withExtendedLifetime(file) {}
    }

    @Test(arguments: [0, 100, 3000, 200_000])
    func aTailThatWasCutIsTold(_ size: Int) throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...30, to: file)
        let directory = Self.killed(original, ["", "-wal", "-tail"])
        Self.change(directory) { $0 = Array($0.prefix(size)) }
        let next = try directory.open()
        #expect(next.mayHaveLost && next.notices.count == 1)
        withExtendedLifetime(file) {}
    }

    /// Nobody was told of the group that was being written when the machine went down.
    @Test func aTornEndIsNoLoss() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...12, to: file)
        let before = Scratch.read(original.path + "-tail").lastIndex { $0 != 0 } ?? 0
        let directory = Self.killed(original, ["", "-wal", "-tail"])
        Self.change(directory) { $0[before - 10] = 0 }
        let next = try directory.open(boot: "the next")
        #expect(next.lastRevision == 11 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// What clients send may look like groups, and is left over behind the end when the tail has begun again.
    @Test func entriesThatLookLikeGroupsAreNone() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try file.append("{}", first: 1, last: 1, time: 1)
        let header = String(
            decoding: Scratch.read(directory.path + "-tail").prefix { $0 != 0 }, as: UTF8.self
        ).split(separator: "\n")[1]
        // As an entry, which can't hold a newline, and with another number.
        let fake = header.replacing("1 1 1 1 0", with: "9 9 9 9 9")
        for revision in 2...200 {
            try file.append("{\"a\":\"\(fake) {} \(fake)\"}", first: revision, last: revision, time: 1)
        }
        try file.probe()
        // Over a part of what was there.
        try file.append("{}", first: 201, last: 201, time: 1)
        let next = try Self.killed(directory).open()
        #expect(next.lastRevision == 201 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    @Test(arguments: ["unlink", "move", "cut", "replace"])
    func oneThatIsTakenAwayIsMadeAgain(_ how: String) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.append(1...10, to: file)
        let tail = directory.path + "-tail"
        switch how {
        case "unlink": unlink(tail)
        case "move": rename(tail, directory.path + "-other")
        case "cut": truncate(tail, 0)
        default:
            Scratch.write(Scratch.read(tail), to: directory.path + "-other")
            rename(directory.path + "-other", tail)
        }
        try Self.append(11...11, to: file)
        #expect(try Self.count(in: directory) == 11)
        #expect(try Self.killed(directory).open().lastRevision == 11)
        try Self.append(12...20, to: file)
        let next = try Self.killed(directory).open()
        #expect(next.lastRevision == 20 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// Where no other can be made, it goes on without: what was written stays, and nothing is missed later.
    @Test func oneThatCannotBeMadeAgainIsDoneWithout() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.append(1...10, to: file)
        let tail = directory.path + "-tail"
        unlink(tail)
        #expect(mkdir(tail, 0o700) == 0)
        try Self.append(11...15, to: file)
        #expect(!file.hasUnsettled)
        #expect(try Self.count(in: directory) == 15)
        rmdir(tail)
        let next = try Self.killed(directory, ["", "-wal", "-lock"]).open()
        #expect(next.lastRevision == 15 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// Whoever asks for the past has groups moved behind the end of the write-ahead log: not if that was cut.
    @Test func nothingIsMovedBehindACutWriteAheadLog() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        for revision in 1...30 {
            try Self.append(revision...revision, to: file)
            try file.settle()
        }
        try Self.append(31...35, to: file)
        truncate(directory.path + "-wal", 10_000)
        let failure = #expect(throws: LogFailure.self) { try file.settle() }
        #expect(failure?.kind == .lost && failure?.message.contains("was cut while in use") == true)
        #expect(throws: LogFailure.self) { try Self.append(36...36, to: file) }
        // The tail has what was cut off.
        let next = try Self.killed(directory).open()
        #expect(next.lastRevision == 35 && !next.mayHaveLost)
        withExtendedLifetime(file) {}
    }

    /// Somebody puts a log in use, without its tail, where one of another history is left.
    @Test(arguments: [0, 5])
    func aMissingTailIsToldAlsoWhereAnotherLies(_ count: Int) throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...10, to: file)
        let other = Scratch()
        let another = try other.open()
        try another.begin(epoch: "f")
        try another.useTail()
        for revision in 1..<1 + count { try Self.append(revision...revision, to: another) }
        let directory = Self.killed(original, ["", "-wal"])
        Scratch.write(Scratch.read(other.path + "-tail"), to: directory.path + "-tail")
        let next = try directory.open()
        #expect(next.mayHaveLost && next.notices.count == 1)
        withExtendedLifetime((file, another)) {}
    }

    /// What was replaced keeps its tail also where the replacement was interrupted.
    @Test func anInterruptedRestoreKeepsTheOldTailWithItsLog() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...10, to: file)
        let directory = Self.killed(original)
        let copy = Scratch()
        try copy.write { try Self.append(1...3, to: $0) }
        try copy.query("UPDATE meta SET value = 'f' WHERE name IN ('epoch', 'begun')")
        Scratch.write(copy.bytes, to: directory.path + "-rescued")
        let next = try directory.open()
        #expect(next.lastRevision == 3 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try LogReader(path: directory.path + "-damaged-1").groups() == Self.groups(1...10))
        withExtendedLifetime(file) {}
    }

    @Test func aTailOfAnotherHistoryIsKeptAside() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...10, to: file)
        let directory = Scratch()
        try directory.write { try Self.append(1...3, to: $0) }
        try directory.query("UPDATE meta SET value = 'f' WHERE name IN ('epoch', 'begun')")
        unlink(directory.path + "-lock")
        let bytes = Scratch.read(original.path + "-tail")
        Scratch.write(bytes, to: directory.path + "-tail")
        #expect(try directory.reader().groups() == Self.groups(1...3))
        let next = try directory.open()
        #expect(next.lastRevision == 3 && !next.mayHaveLost)
        #expect(next.notices.count == 1 && next.notices[0].contains("another history"))
        #expect(Scratch.read(directory.path + "-damaged-1-tail") == bytes)
        #expect(!directory.names.contains("bus.sqlite-tail"))
        withExtendedLifetime(file) {}
    }

    /// An older copy of the file does not get what only the tail has, as something between is missing.
    @Test func anOlderFileBesideItsTailIsTold() throws {
        let directory = Scratch()
        try directory.write { try Self.append(1...3, to: $0) }
        let older = directory.bytes
        let file = try Self.open(directory)
        try Self.append(4...8, to: file)
        // It begins again.
        try file.probe()
        try Self.append(9...12, to: file)
        let copy = Self.killed(directory, ["", "-tail"])
        copy.bytes = older
        #expect(throws: LogFailure.self) { try copy.reader().groups() }
        let next = try copy.open()
        #expect(next.lastRevision == 3 && next.mayHaveLost)
        #expect(copy.names.contains("bus.sqlite-damaged-1-tail"))
        withExtendedLifetime(file) {}
    }

    /// A damaged file is saved as far as it can be read, and goes on with the tail if nothing between is missing.
    @Test func aSavedFileGoesOnWithItsTail() throws {
        let original = Scratch()
        try original.write { try Self.append(1...200, to: $0) }
        let file = try Self.open(original)
        try Self.append(201...210, to: file)
        var bytes = original.bytes
        let place = try #require(bytes.firstRange(of: Array("{\"revision\":90}".utf8))?.lowerBound)
        bytes[place] = UInt8(ascii: "[")
        // Only damage behind which nothing follows leaves the tail its place.
        let directory = Self.killed(original)
        directory.bytes = bytes
        let next = try directory.open()
        #expect(next.lastRevision == 89 && next.mayHaveLost)
        #expect(directory.names.contains { $0.hasPrefix("bus.sqlite-damaged-") && $0.hasSuffix("-tail") })
        withExtendedLifetime(file) {}
    }

    /// A copy of the files of a log in use is restored with what is in its tail; and the log that it replaces keeps its own.
    @Test func copiesAreRestoredWithTheirTails() throws {
        let original = Scratch()
        let file = try Self.open(original)
        try Self.append(1...30, to: file)
        let copy = Self.killed(original, ["", "-wal", "-tail"])
        let directory = Self.killed(original)
        let outcome = try LogRestore.restore(copy.path, to: directory.path, epoch: "f") { _ in }
        #expect(outcome.revision == 30)
        #expect(try directory.reader().groups() == Self.groups(1...30))
        #expect(directory.names.contains("bus.sqlite-replaced-1-tail"))
        #expect(!directory.names.contains("bus.sqlite-tail"))
        let other = Self.killed(original)
        let aside = try LogFile.setAside(other.path)
        #expect(try LogReader(path: aside).groups() == Self.groups(1...30))
        withExtendedLifetime((file, other)) {}
    }
}

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
}
