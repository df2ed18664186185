import BusLog
import Glibc
import Testing

/// What becomes of the write-ahead log between two runs, or during one: whatever was acknowledged is there, or its loss is
/// told; and what was not lost is not told as lost.
@Suite struct WriteAheadLogTests {
    /// A log as a killed daemon leaves it, with so many commits behind its one snapshot.
    private static func killed(_ commits: Int, keepingNote: Bool = true) throws -> Scratch {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        try file.beginSnapshot(revision: 0, time: 1)
        try file.addPart("{}")
        try file.endSnapshot()
        for revision in 1...commits { try append(revision, to: file) }
        return copy(original, keepingNote: keepingNote)
    }

    private static func append(_ revision: Int, to file: LogFile) throws {
        try file.append("{\"revision\":\(revision)}", first: revision, last: revision, time: revision)
    }

    /// All files of a log whose owner still has it open, as the kernel has them: what is there once that is killed.
    private static func copy(_ original: Scratch, keepingNote: Bool = true) -> Scratch {
        let directory = Scratch()
        for suffix in keepingNote ? ["", "-wal", "-lock"] : ["", "-wal"] {
            Scratch.write(Scratch.read(original.path + suffix), to: directory.path + suffix)
        }
        return directory
    }

    private static func cutWriteAheadLog(of directory: Scratch, to size: Int) {
        Scratch.write(
            Array(Scratch.read(directory.path + "-wal").prefix(size)), to: directory.path + "-wal")
    }

    @Test func killedDaemonsLogIsWhole() throws {
        let directory = try Self.killed(50)
        let file = try directory.open()
        #expect(file.lastRevision == 50)
        #expect(!file.mayHaveLost)
        #expect(file.notices.isEmpty)
    }

    /// Also where nobody noted how far it had come: the file itself says that one belongs to it.
    @Test(arguments: [true, false])
    func missingWriteAheadLogIsTold(_ keepingNote: Bool) throws {
        let directory = try Self.killed(50, keepingNote: keepingNote)
        unlink(directory.path + "-wal")
        let file = try directory.open()
        #expect(file.mayHaveLost)
        #expect(file.notices.count == 1)
        #expect(file.notices.first?.contains("write-ahead log") == true)
        // Once told, a new history is begun, and that is whole.
        try file.begin(epoch: "f")
        let next = try Self.copy(directory).open()
        #expect(!next.mayHaveLost)
        #expect(next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// Wherever it is cut, at a commit's end too: what is left of it looks like one that was never longer.
    @Test func cutWriteAheadLogIsTold() throws {
        let whole = try Self.killed(30)
        let count = whole.ahead.count
        for size in stride(from: 0, to: count, by: 4001) {
            let directory = Self.copy(whole)
            Self.cutWriteAheadLog(of: directory, to: size)
            let file = try directory.open()
            #expect(file.lastRevision < 30 && file.mayHaveLost, "\(size) bytes")
            #expect(file.notices.count == 1, "\(size) bytes")
        }
    }

    /// A start that found the loss and was killed before it began a new history leaves it to the next one.
    @Test func lossIsToldUntilANewHistoryBegins() throws {
        let directory = try Self.killed(30)
        Self.cutWriteAheadLog(of: directory, to: 0)
        for _ in 0..<2 { #expect(try directory.open().mayHaveLost) }
        try directory.open().begin(epoch: "f")
        #expect(try !directory.open().mayHaveLost)
    }

    /// Somebody looks into the log of a killed daemon with a tool that moves the write-ahead log into the file, as SQLite
    /// does on closing: nothing is lost.
    @Test func writeAheadLogThatWasMovedIntoTheFileIsNotMissed() throws {
        let directory = try Self.killed(50)
        try directory.query("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(!directory.names.contains("bus.sqlite-wal"))
        let file = try directory.open()
        #expect(file.lastRevision == 50)
        #expect(!file.mayHaveLost)
        #expect(file.notices.isEmpty)
    }

    /// An older copy of the file, put back as it is, would give clients another past under the same name.
    @Test func olderCopyInTheLogsPlaceIsTold() throws {
        let directory = Scratch()
        try directory.write { try Self.append(1, to: $0) }
        let older = directory.bytes
        let file = try directory.open()
        try file.begin(epoch: "e")
        try Self.append(2, to: file)
        try file.close()
        let copy = Self.copy(directory)
        unlink(copy.path + "-wal")
        copy.bytes = older
        #expect(try copy.open().mayHaveLost)
        withExtendedLifetime(file) {}
    }

    /// Who has named the history anew knows that it is another.
    @Test func copyWithANewNameIsNotDoubted() throws {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        try Self.append(1, to: file)
        try original.query("VACUUM INTO '\(original.path)-copy'")
        for isNamed in [true, false] {
            let directory = Scratch()
            directory.bytes = Scratch.read(original.path + "-copy")
            if isNamed { try directory.query("UPDATE meta SET value = 'f' WHERE name = 'epoch'") }
            let copy = try directory.open()
            #expect(copy.lastRevision == 1)
            #expect(copy.mayHaveLost != isNamed)
        }
    }

    /// A generation of the write-ahead log is written over the one before. Who is killed meanwhile leaves a frame whose
    /// head is new and whose page is old, with a commit's mark; nobody was told of that commit.
    @Test(arguments: 0..<24)
    func tornFrameOverAnEarlierGenerationIsNoLoss(_ commits: Int) throws {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        for revision in 1...40 { try Self.append(revision, to: file) }
        // All of it is in the file, so the next commit begins at the front again.
        try original.query("PRAGMA wal_checkpoint(PASSIVE)")
        let earlier = Scratch.read(original.path + "-wal")
        for revision in 0..<commits { try Self.append(41 + revision, to: file) }
        let before = Self.copy(original)
        try Self.append(41 + commits, to: file)
        let after = Scratch.read(original.path + "-wal")
        #expect(after.count == earlier.count)
        let written = Scratch.read(before.path + "-wal")
        let last = try #require(after.indices.last { after[$0] != written[$0] })
        // The page ends where the last frame does; of it, only the head has been written.
        let page = (last - 32) / 4120 * 4120 + 32 + 24
        var torn = Array(after[..<page] + earlier[page...])
        if commits == 0 { torn = Array(after[..<32] + earlier[32...]) }
        Scratch.write(torn, to: before.path + "-wal")
        let next = try before.open()
        #expect(next.lastRevision == 40 + commits)
        #expect(!next.mayHaveLost)
        #expect(next.notices.isEmpty)
    }

    // MARK: - While it is in use

    @Test(arguments: ["deleted", "moved", "replaced"])
    func writeAheadLogThatIsTakenAwayIsNoticedAndSaved(_ how: String) throws {
        let directory = Scratch()
        let ahead = directory.path + "-wal"
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            for revision in 1...20 { try Self.append(revision, to: file) }
            let then = Scratch.read(ahead)
            for revision in 21...40 { try Self.append(revision, to: file) }
            switch how {
            case "deleted": unlink(ahead)
            case "moved": rename(ahead, ahead + "-elsewhere")
            default:
                unlink(ahead)
                Scratch.write(then, to: ahead)
            }
            let failure = #expect(throws: LogFailure.self) { try Self.append(41, to: file) }
            #expect(failure?.kind == .lost)
            #expect(failure?.message.contains("restart the daemon") == true)
            // And from then on, whatever is there again.
            #expect(throws: LogFailure.self) { try file.probe() }
            #expect(throws: LogFailure.self) { try Self.append(41, to: file) }
        }
        let next = try directory.open()
        #expect(next.lastRevision >= 40)
        #expect(!next.mayHaveLost)
        #expect(try directory.reader().groups().prefix(40).map(\.first) == Array(1...40))
    }

    /// Cut to nothing, as by a rotation of files that copies and cuts, or in the middle: what is written behind the cut would
    /// be acknowledged and found by no start.
    @Test(arguments: [0, 20, 4152, 40_000])
    func writeAheadLogThatIsCutIsNoticed(_ size: Int) throws {
        let directory = Scratch()
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            for revision in 1...20 { try Self.append(revision, to: file) }
            truncate(directory.path + "-wal", off_t(size))
            let failure = #expect(throws: LogFailure.self) { try Self.append(21, to: file) }
            #expect(failure?.kind == .lost)
            #expect(failure?.message.contains("was cut while in use") == true)
            #expect(throws: LogFailure.self) { try Self.append(21, to: file) }
            #expect(throws: LogFailure.self) { try file.close() }
        }
        let next = try directory.open()
        #expect(next.lastRevision < 20)
        #expect(next.mayHaveLost)
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
    }

    /// Cut between the check and the write that follows: it is long enough again, and has a hole at its front.
    @Test func holeInTheWriteAheadLogIsNoticed() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...20 { try Self.append(revision, to: file) }
        let size = Scratch.read(directory.path + "-wal").count
        truncate(directory.path + "-wal", 0)
        truncate(directory.path + "-wal", off_t(size))
        #expect(throws: LogFailure.self) { try Self.append(21, to: file) }
    }

    // MARK: - Zeros at its end

    /// Where each small group made the file longer, the disk would be written to twice for it.
    @Test func smallGroupsRarelyMakeItLonger() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for round in 0..<2 {
            var sizes: Set<Int> = []
            for revision in 1...100 {
                try Self.append(100 * round + revision, to: file)
                sizes.insert(Scratch.read(directory.path + "-wal").count)
            }
            #expect((2...10).contains(sizes.count), "\(sizes.sorted())")
            // Whoever cuts it has it made longer again.
            if round == 0 { try directory.query("PRAGMA wal_checkpoint(TRUNCATE)") }
        }
        #expect(try directory.reader().groups().count == 200)
        #expect(try directory.query("PRAGMA integrity_check") == "ok\n")
    }

    /// Large groups, and those that nobody waits for, would be written twice.
    @Test(arguments: [SyncMode.always, .interval])
    func othersAreWrittenOnce(_ mode: SyncMode) throws {
        let directory = Scratch()
        let file = try directory.open(mode)
        try file.begin(epoch: "e")
        let size = mode == .always ? 20_000 : 10
        for revision in 1...10 {
            let text = "{\"revision\":\(revision)}" + String(repeating: " ", count: size)
            try file.append(text, first: revision, last: revision, time: 1)
        }
        #expect(directory.ahead.count == Scratch.read(directory.path + "-wal").count)
    }

    /// Nothing was in them.
    @Test func zerosThatAreCutAreNotMissed() throws {
        let directory = Scratch()
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            for revision in 1...40 {
                try Self.append(revision, to: file)
                truncate(directory.path + "-wal", off_t(directory.ahead.count))
            }
            try file.close()
        }
        let next = try directory.open()
        #expect(next.lastRevision == 40)
        #expect(!next.mayHaveLost)
    }

    /// Another program may move all of it into the file, and cut it then: nothing is lost.
    @Test func writeAheadLogThatWasMovedIntoTheFileWhileInUseIsWhole() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for round in 0..<3 {
            for revision in 1...20 { try Self.append(20 * round + revision, to: file) }
            try directory.query("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try Self.append(61, to: file)
        try file.close()
        #expect(try directory.reader().groups().count == 61)
    }

    /// A run that commits nothing more after that ends in order all the same.
    @Test func writeAheadLogThatIsReplacedIsNotReadByTheNextStart() throws {
        let directory = Scratch()
        let ahead = directory.path + "-wal"
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            for revision in 1...20 { try Self.append(revision, to: file) }
            let then = Scratch.read(ahead)
            for revision in 21...40 { try Self.append(revision, to: file) }
            unlink(ahead)
            Scratch.write(then, to: ahead)
            // Somebody else is still reading, so SQLite leaves everything as it is.
            let reader = try directory.reader()
            try file.close()
            withExtendedLifetime(reader) {}
        }
        let next = try directory.open()
        #expect(next.lastRevision == 40)
        #expect(!next.mayHaveLost)
    }
}
