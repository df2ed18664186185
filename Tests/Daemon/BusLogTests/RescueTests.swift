import BusLog
import Glibc
import Testing

/// What becomes of a damaged log: it is replaced only by one with which a bus can begin, and what messages advise helps.
@Suite struct RescueTests {
    /// Writes sixty groups, with a snapshot before all of them as every bus has it, and others.
    private static func write(_ directory: Scratch, snapshots: [Int]) throws -> [Copy] {
        var groups: [Copy] = []
        try directory.write { file in
            try snapshot(file)
            for revision in 1...60 {
                let text = "{\"revision\":\(revision)}" + String(repeating: "x", count: revision * 97 % 3000)
                try file.append(text, first: revision, last: revision, time: revision)
                groups.append(Copy(revision...revision, revision, text))
                if snapshots.contains(revision) { try snapshot(file) }
            }
        }
        return groups
    }

    private static func snapshot(_ file: LogFile) throws {
        try file.beginSnapshot(revision: file.lastRevision, time: file.lastRevision)
        for part in 0..<3 { try file.addPart("{\"part\":\(part)}") }
        try file.endSnapshot()
    }

    /// Tries twice, as a service is tried again, and gives why it was refused.
    private static func refusal(_ directory: Scratch) throws -> String {
        let bytes = directory.bytes
        var message = ""
        for _ in 0..<2 {
            let failure = #expect(throws: LogFailure.self) { try directory.open() }
            #expect(failure?.kind == .damaged)
            message = failure?.message ?? ""
            #expect(throws: LogFailure.self) { try LogFile.compact(directory.path, bootID: "boot") }
            #expect(directory.bytes == bytes)
            #expect(!directory.names.contains { $0.contains("damaged") || $0.contains("rescue") })
        }
        return message
    }

    @Test(
        arguments: [
            "UPDATE snapshot_parts SET records = 'x' WHERE part = 1", "DELETE FROM snapshot_parts",
            "UPDATE snapshots SET digest = ''",
        ], [[], [40]])
    func aLogWithoutAWholeSnapshotStaysAsItIs(_ change: String, _ snapshots: [Int]) throws {
        let directory = Scratch()
        _ = try Self.write(directory, snapshots: snapshots)
        try directory.query(change)
        let message = try Self.refusal(directory)
        #expect(message.contains("it has no whole snapshot to begin with; restore a backup"), "\(message)")
    }

    /// What was thinned is in the snapshots from its horizon on only.
    @Test func aLogStaysAsItIsWhereAllSnapshotsWithATypeAreDamaged() throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        try directory.query(
            """
            CREATE TABLE horizons(
                type TEXT PRIMARY KEY, revision INTEGER NOT NULL, thinned INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO horizons VALUES('beat', 20, 20);
            UPDATE snapshot_parts SET records = 'x' WHERE revision = 40
            """)
        let whole = directory.bytes
        try directory.query("UPDATE snapshot_parts SET records = 'x' WHERE revision = 20")
        #expect(try Self.refusal(directory).contains("the stores of beat are in its newest snapshots only"))
        // One of them is enough.
        directory.bytes = whole
        let file = try directory.open()
        #expect(file.lastRevision == 60 && !file.mayHaveLost && file.notices.count == 2)
        #expect(try directory.reader().groups(after: 20) == Array(groups.suffix(40)))
    }

    /// A start does not look there. Who meets it is told what helps, and the notices advise nothing more.
    @Test(arguments: [
        ("UPDATE groups SET entries = '{}' WHERE first = 30", 40),
        ("DELETE FROM groups WHERE number = 7", 20),
        ("UPDATE snapshot_parts SET records = 'x' WHERE revision = 20", 0),
    ])
    func compactingMendsWhatNoStartNeeds(_ change: String, _ lost: Int) throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        try directory.query(change)
        do {
            let file = try directory.open()
            #expect(file.notices.isEmpty)
            let reader = try directory.reader()
            let failure = #expect(throws: LogFailure.self) {
                _ = try reader.snapshot(20)
                _ = try reader.groups()
            }
            #expect(failure?.message.contains("stop the daemon and run fluxbusd --compact") == true)
        }
        let outcome = try LogFile.compact(directory.path, bootID: "boot")
        #expect(outcome.notices.count == 2)
        #expect(
            outcome.notices.first?.contains(
                lost == 0
                    ? "no commit is lost"
                    : "the history through revision \(lost) is lost, but no later commit") == true,
            "\(outcome.notices)")
        #expect(!outcome.notices.contains { $0.contains("--compact") }, "\(outcome.notices)")
        #expect(directory.names.contains("bus.sqlite-damaged-1"))
        let file = try directory.open()
        #expect(file.epoch == "e" && file.lastRevision == 60 && file.oldestRevision == lost)
        #expect(!file.mayHaveLost && file.notices.isEmpty)
        #expect(try directory.reader().groups(after: lost) == Array(groups.suffix(60 - lost)))
        _ = consume file
        #expect(try LogFile.compact(directory.path, bootID: "boot").notices.isEmpty)
    }

    /// The commits are in the file still, but a bus gives none from before its oldest snapshot.
    @Test func statesThatCantBeReadAnyMoreAreTold() throws {
        let directory = Scratch()
        _ = try Self.write(directory, snapshots: [20, 40])
        try directory.query("UPDATE snapshot_parts SET records = 'x' WHERE revision = 0")
        let notices = try LogFile.compact(directory.path, bootID: "boot").notices
        #expect(
            notices.first?.contains(
                "through revision 20 is lost, but no later commit (states before it can't be read any more)")
                == true, "\(notices)")
        #expect(try !directory.open().mayHaveLost)
    }

    /// It ends with a snapshot, and more is in the tail only.
    @Test func aMendedLogGoesOnWithItsTail() throws {
        let original = Scratch()
        let groups = try Self.write(original, snapshots: [20, 60])
        let file = try TailedLog.open(original)
        try TailedLog.append(61...65, to: file)
        let directory = TailedLog.killed(original)
        try directory.query("UPDATE groups SET entries = '{}' WHERE first = 30")
        let outcome = try LogFile.compact(directory.path, bootID: "boot")
        #expect(
            outcome.notices.first?.contains("through revision 60 is lost, but no later commit") == true,
            "\(outcome.notices)")
        let next = try directory.open()
        #expect(next.lastRevision == 65 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try directory.reader().groups(after: 59) == groups.suffix(1) + TailedLog.groups(61...65))
        withExtendedLifetime(file) {}
    }

    /// Nothing else may be left that tells the next start of it.
    @Test func compactingDoesNotHideThatCommitsAreLost() throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        try directory.query("UPDATE groups SET entries = '{}' WHERE first = 50")
        unlink(directory.path + "-lock")
        let outcome = try LogFile.compact(directory.path, bootID: "boot")
        #expect(outcome.notices.first?.contains("commits after revision 49 are lost") == true)
        let file = try directory.open()
        #expect(file.mayHaveLost && file.notices.isEmpty && file.lastRevision == 49)
        #expect(try directory.reader().groups() == Array(groups.prefix(49)))
    }

    /// The machine may go down before the next run begins.
    @Test func aSavedLogSaysThatCommitsAreLost() throws {
        let directory = Scratch()
        _ = try Self.write(directory, snapshots: [20, 40])
        try directory.query("UPDATE groups SET entries = '{}' WHERE first = 50")
        for _ in 0..<2 {
            let file = try directory.open()
            #expect(file.lastRevision == 49 && file.mayHaveLost)
            _ = consume file
            unlink(directory.path + "-lock")
        }
        try directory.write { _ in }
        #expect(try !directory.open().mayHaveLost)
    }

    /// Also where that leaves nothing after the newest snapshot.
    @Test(arguments: [
        "UPDATE groups SET digest = '' WHERE first = 41", "DELETE FROM groups WHERE first = 41",
    ])
    func whatComesBeforeTheFirstDamageIsKept(_ change: String) throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        try directory.query(change)
        let file = try directory.open()
        #expect(file.lastRevision == 40 && file.oldestRevision == 0 && file.mayHaveLost)
        #expect(file.notices.first?.contains("commits after revision 40 are lost") == true)
        #expect(try directory.reader().groups() == Array(groups.prefix(40)))
        try file.begin(epoch: "f")
        try file.append("{}", first: 41, last: 41, time: 41)
        #expect(try directory.reader().groups().map(\.first) == Array(1...41))
    }

    /// SQLite opens no file that is shorter than it says.
    @Test(arguments: [4096, 40_960]) func aLogThatWasCutKeepsWhatIsLeft(_ bytes: Int) throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        let cut = Array(directory.bytes.dropLast(bytes))
        directory.bytes = cut
        let failure = #expect(throws: LogFailure.self) { try directory.reader() }
        #expect(failure?.kind == .damaged)
        let file = try directory.open()
        #expect((40..<60).contains(file.lastRevision) && file.mayHaveLost)
        #expect(
            file.notices.first?.contains("commits after revision \(file.lastRevision) are lost") == true)
        #expect(try directory.reader().groups() == Array(groups.prefix(file.lastRevision)))
        #expect(Scratch.read(directory.path + "-damaged-1") == cut)
    }

    @Test func aLogOfWhoseSchemaAPartIsDamagedKeepsEverything() throws {
        let directory = Scratch()
        let groups = try Self.write(directory, snapshots: [20, 40])
        let text = Array("CREATE VIEW sizes".utf8)
        var bytes = directory.bytes
        for place in bytes.ranges(of: text) { bytes[place.upperBound - 7] = UInt8(ascii: "X") }
        #expect(bytes != directory.bytes)
        directory.bytes = bytes
        #expect(throws: LogFailure.self) { try directory.reader() }
        let file = try directory.open()
        #expect(file.lastRevision == 60 && !file.mayHaveLost)
        #expect(file.notices.first?.contains("no commit is lost") == true)
        #expect(try directory.reader().groups() == groups)
    }

    /// Without a note it may be any file.
    @Test func aFileWithoutItsFirstPageWhereThereWasALogIsDamaged() throws {
        let directory = Scratch()
        _ = try Self.write(directory, snapshots: [])
        var bytes = directory.bytes
        for place in 0..<4096 { bytes[place] = 0 }
        directory.bytes = bytes
        let message = try Self.refusal(directory)
        #expect(message.contains("is no action log any more, but revision 60 had been reached; restore a"))
        unlink(directory.path + "-lock")
        #expect(#expect(throws: LogFailure.self) { try directory.open() }?.kind == .notALog)
    }

    /// Others begin a log, as one that is missing does.
    @Test func anEmptyFileWhereThereWasALogIsRefused() throws {
        let directory = Scratch()
        _ = try Self.write(directory, snapshots: [])
        truncate(directory.path, 0)
        let message = try Self.refusal(directory)
        #expect(message.contains("is empty, but revision 60 had been reached; restore a backup"))
        #expect(message.contains("or remove the file to begin a new log"))
        unlink(directory.path)
        for _ in 0..<2 {
            let file = try directory.open()
            #expect(file.lastRevision == 0 && !file.mayHaveLost && file.notices.isEmpty)
            _ = consume file
            directory.removeAll()
            Scratch.write([], to: directory.path)
        }
    }
}
