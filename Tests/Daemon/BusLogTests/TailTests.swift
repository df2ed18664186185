import BusLog
import Glibc
import TestSupport
import Testing

/// Small groups in front of the database: whoever reads sees them, no crash loses them, and nothing that is left over from before
/// comes back.
@Suite struct TailTests {
    @Test func readersSeeWhatIsInTheTailOnly() throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
        try TailedLog.append(1...20, to: file)
        #expect(try TailedLog.count(in: directory) == 0)
        let reader = try directory.reader()
        #expect(try reader.groups() == TailedLog.groups(1...20))
        #expect(try reader.groups(after: 12) == TailedLog.groups(13...20))
        #expect(try reader.groupNumbers() == 1...20)
        #expect(try reader.lastRevision(by: 7) == 7)
        #expect(try [0, 1, 9, 20, 99].map { try reader.group(atOrBefore: $0) } == [nil, 1, 9, 20, 20])
        // One that was opened before goes on in the database with what is moved there.
        try TailedLog.append(21...25, to: file)
        try file.settle()
        #expect(try TailedLog.count(in: directory) == 25)
        #expect(try reader.groups() == TailedLog.groups(1...25))
        try TailedLog.append(26...30, to: file)
        #expect(try reader.groups() == TailedLog.groups(1...25))
        #expect(try directory.reader().groups() == TailedLog.groups(1...30))
        #expect(try [25, 28].map { try directory.reader().group(atOrBefore: $0) } == [25, 28])
        try file.close()
        #expect(try TailedLog.count(in: directory) == 30)
        #expect(!directory.names.contains("bus.sqlite-tail"))
    }

    @Test func itIsLinesOfText() throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
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
        let file = try TailedLog.open(directory)
        var groups: [Copy] = []
        for revision in 1...5000 {
            let text = revision % 700 == 0 ? String(repeating: "y", count: 20_000) : TailedLog.text(revision)
            try file.append(text, first: revision, last: revision, time: revision)
            groups.append(Copy(revision...revision, revision, text))
            if revision % 997 == 0 {
                #expect(try directory.reader().groups() == groups)
                let next = try TailedLog.killed(directory).open()
                #expect(next.lastRevision == revision && !next.mayHaveLost && next.notices.isEmpty)
            }
        }
        try file.close()
        #expect(try directory.reader().groups() == groups)
    }

    @Test func aKilledDaemonsTailGoesIntoTheDatabase() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...30, to: file)
        try file.settle()
        try TailedLog.append(31...40, to: file)
        let directory = TailedLog.killed(original)
        let next = try directory.open()
        #expect(next.lastRevision == 40 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try TailedLog.count(in: directory) == 40)
        #expect(!directory.names.contains("bus.sqlite-tail"))
        // A start that is killed before it begins leaves nothing to be missed.
        let after = try TailedLog.killed(directory, ["", "-wal", "-lock"]).open()
        #expect(after.lastRevision == 40 && !after.mayHaveLost && after.notices.isEmpty)
        withExtendedLifetime((file, next)) {}
    }

    /// What clients send may look like groups, and is left over behind the end when the tail has begun again.
    @Test func entriesThatLookLikeGroupsAreNone() throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
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
        let next = try TailedLog.killed(directory).open()
        #expect(next.lastRevision == 201 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    @Test(arguments: ["unlink", "move", "cut", "replace"])
    func oneThatIsTakenAwayIsMadeAgain(_ how: String) throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
        try TailedLog.append(1...10, to: file)
        let tail = directory.path + "-tail"
        switch how {
        case "unlink": unlink(tail)
        case "move": rename(tail, directory.path + "-other")
        case "cut": truncate(tail, 0)
        default:
            Scratch.write(Scratch.read(tail), to: directory.path + "-other")
            rename(directory.path + "-other", tail)
        }
        try TailedLog.append(11...11, to: file)
        #expect(try TailedLog.count(in: directory) == 11)
        #expect(try TailedLog.killed(directory).open().lastRevision == 11)
        try TailedLog.append(12...20, to: file)
        let next = try TailedLog.killed(directory).open()
        #expect(next.lastRevision == 20 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// Where no other can be made, it goes on without: what was written stays, and nothing is missed later.
    @Test func oneThatCannotBeMadeAgainIsDoneWithout() throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
        try TailedLog.append(1...10, to: file)
        let tail = directory.path + "-tail"
        unlink(tail)
        #expect(mkdir(tail, 0o700) == 0)
        try TailedLog.append(11...15, to: file)
        #expect(!file.hasUnsettled)
        #expect(try TailedLog.count(in: directory) == 15)
        rmdir(tail)
        let next = try TailedLog.killed(directory, ["", "-wal", "-lock"]).open()
        #expect(next.lastRevision == 15 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// What was replaced keeps its tail also where the replacement was interrupted.
    @Test func anInterruptedRestoreKeepsTheOldTailWithItsLog() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...10, to: file)
        let directory = TailedLog.killed(original)
        let copy = Scratch()
        try copy.write { try TailedLog.append(1...3, to: $0) }
        try copy.query("UPDATE meta SET value = 'f' WHERE name IN ('epoch', 'begun')")
        Scratch.write(copy.bytes, to: directory.path + "-rescued")
        let next = try directory.open()
        #expect(next.lastRevision == 3 && !next.mayHaveLost && next.notices.isEmpty)
        #expect(try LogReader(path: directory.path + "-damaged-1").groups() == TailedLog.groups(1...10))
        withExtendedLifetime(file) {}
    }

    /// A copy of the files of a log in use is restored with what is in its tail; and the log that it replaces keeps its own.
    @Test func copiesAreRestoredWithTheirTails() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...30, to: file)
        let copy = TailedLog.killed(original, ["", "-wal", "-tail"])
        let directory = TailedLog.killed(original)
        let outcome = try LogRestore.restore(copy.path, to: directory.path, epoch: "f") { _ in }
        #expect(outcome.revision == 30)
        #expect(try directory.reader().groups() == TailedLog.groups(1...30))
        #expect(directory.names.contains("bus.sqlite-replaced-1-tail"))
        #expect(!directory.names.contains("bus.sqlite-tail"))
        let other = TailedLog.killed(original)
        let aside = try LogFile.setAside(other.path)
        #expect(try LogReader(path: aside).groups() == TailedLog.groups(1...30))
        withExtendedLifetime((file, other)) {}
    }
}
