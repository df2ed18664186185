import BusLog
import Glibc
import TestSupport
import Testing

/// A log in which something is not as it was written: what is whole is used, what is lost is told, and nothing wrong is
/// ever given out.
@Suite struct DamageTests {
    /// Writes a log with two snapshots and groups before, between and after them.
    private static func write(_ file: LogFile) throws -> [Copy] {
        var groups: [Copy] = []
        for revision in 1...60 {
            let text = "{\"revision\":\(revision)}" + String(repeating: "x", count: revision * 97 % 3000)
            try file.append(text, first: revision, last: revision, time: revision)
            groups.append(Copy(revision...revision, revision, text))
            if revision == 20 || revision == 40 {
                try file.beginSnapshot(revision: revision, time: revision)
                for part in 0..<3 { try file.addPart(Self.part(part, revision)) }
                try file.endSnapshot()
            }
        }
        return groups
    }

    private static func part(_ number: Int, _ revision: Int) -> String {
        String(repeating: "{\"part\":\(number),\"of\":\(revision)}\n", count: 300)
    }

    /// What an opened log gives must be a part of what was written; and what is missing at the end must be told.
    private static func check(_ directory: Scratch, _ file: LogFile, _ groups: [Copy], _ what: String) throws
    {
        let reader = try directory.reader()
        let snapshots = try reader.snapshots()
        let base = snapshots.first?.revision ?? 0
        let there = try reader.groups(after: base)
        let expected = groups.filter { $0.last > base }
        #expect(there == Array(expected.prefix(there.count)), "\(what)")
        #expect(file.lastRevision == there.last?.last ?? base, "\(what)")
        #expect(file.lastRevision == groups.count || file.mayHaveLost, "\(what): lost without a word")
        if let newest = snapshots.first {
            let text = (0..<3).map { part($0, newest.revision) }.joined()
            #expect(try reader.snapshot(newest.revision) == Array(text.utf8), "\(what)")
        }
        // It goes on from there.
        let next = file.lastRevision + 1
        try file.begin(epoch: "f")
        try file.append("{\"next\":true}", first: next, last: next, time: 1)
        #expect(try reader.groups(after: next - 1).map(\.entries) == ["{\"next\":true}"], "\(what)")
    }

    /// A seeded run over bits of the whole file. Each is told, harmless, or repaired without loss.
    @Test func flippedBitsAreNeverGivenOut() throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        let whole = directory.bytes
        var generator = SeededGenerator(seed: 5)
        var outcomes = (unharmed: 0, rescued: 0, refused: 0)
        for _ in 0..<150 {
            directory.removeAll()
            let place = Int.random(in: 0..<whole.count, using: &generator)
            var damaged = whole
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            directory.bytes = damaged
            do throws(LogFailure) {
                let file = try directory.open()
                if file.notices.isEmpty {
                    outcomes.unharmed += 1
                } else {
                    outcomes.rescued += 1
                    #expect(Scratch.read(directory.path + "-damaged-1") == damaged, "byte \(place)")
                }
                do { try Self.check(directory, file, groups, "byte \(place)") } catch {
                    // Damage that only a write meets, such as in the list of free pages.
                    #expect((error as? LogFailure)?.kind == .damaged, "byte \(place): \(error)")
                }
            } catch {
                outcomes.refused += 1
                #expect(
                    [.damaged, .notALog, .newerForm, .io].contains(error.kind), "byte \(place): \(error)")
            }
        }
        // Most bits belong to groups before the snapshot or to one that can be saved; only few to the first page.
        #expect(outcomes.rescued > 30 && outcomes.unharmed > 15 && outcomes.refused < 25, "\(outcomes)")
    }

    @Test func lostTailOfTheWriteAheadLogIsTold() throws {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        let groups = try Self.write(file)
        let (whole, ahead) = (original.bytes, original.ahead)
        let directory = Scratch()
        var generator = SeededGenerator(seed: 6)
        var lost = 0
        for _ in 0..<60 {
            directory.removeAll()
            let place = Int.random(in: 0..<ahead.count, using: &generator)
            var damaged = ahead
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            directory.bytes = whole
            Scratch.write(damaged, to: directory.path + "-wal")
            // Perhaps nothing at all is left, in which case it is a new log; that too is told.
            let next = try directory.open()
            if next.mayHaveLost { lost += 1 }
            try Self.check(directory, next, groups, "byte \(place)")
        }
        // Only damage in the very last commit could be a torn one of a machine that went down; it did not.
        #expect(lost > 55)
    }

    /// The machine went down in the middle of the last append: nobody was told of it, nothing is lost.
    @Test func tornLastAppendIsNoLoss() throws {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        try file.append("{\"revision\":1}", first: 1, last: 1, time: 1)
        let before = original.ahead.count
        try file.append("{\"revision\":2}", first: 2, last: 2, time: 1)
        var ahead = Scratch.read(original.path + "-wal")
        ahead[before + 100] ^= 1
        let directory = Scratch()
        directory.bytes = original.bytes
        Scratch.write(ahead, to: directory.path + "-wal")
        let next = try directory.open(boot: "the next")
        #expect(next.lastRevision == 1)
        #expect(!next.mayHaveLost)
        #expect(next.notices.isEmpty)
    }

    /// After a checkpoint all is in the file; a part of the write-ahead log, written into it again, would take it back.
    @Test func damagedWriteAheadLogDoesNotTakeTheFileBack() throws {
        let original = Scratch()
        let file = try original.open()
        try file.begin(epoch: "e")
        let groups = try Self.write(file)
        try original.query("PRAGMA wal_checkpoint(PASSIVE)")
        var ahead = original.ahead
        ahead[ahead.count / 2] ^= 1
        let directory = Scratch()
        directory.bytes = original.bytes
        Scratch.write(ahead, to: directory.path + "-wal")
        let next = try directory.open()
        #expect(next.lastRevision == 60)
        #expect(next.notices.count == 1)
        try Self.check(directory, next, groups, "checkpointed")
    }

    @Test func whatIsOlderAndGroupsStandInForADamagedSnapshot() throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        try directory.query(
            "UPDATE snapshot_parts SET records = replace(records, '40', '41') WHERE revision = 40 AND part = 1"
        )
        let file = try directory.open()
        #expect(file.lastRevision == 60)
        #expect(!file.mayHaveLost)
        #expect(file.notices.first?.contains("no commit is lost") == true)
        #expect(try directory.reader().snapshots().map(\.revision) == [20])
        #expect(try directory.reader().groups() == groups)
        #expect(file.epoch == "e")
    }

    @Test func groupsUpToTheDamageAreKept() throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        try directory.query("UPDATE groups SET entries = replace(entries, '50', '51') WHERE first = 50")
        let reader = try directory.reader()
        var seen = 0
        let failure = #expect(throws: LogFailure.self) {
            try reader.forEachGroup(after: 40) { _ in
                seen += 1
                return true
            }
        }
        #expect(failure?.kind == .damaged)
        #expect(seen == 9)
        let file = try directory.open()
        #expect(file.lastRevision == 49)
        #expect(file.mayHaveLost)
        #expect(try directory.reader().groups() == Array(groups.prefix(49)))
    }

    /// Rows that are whole but not where they belong.
    @Test(arguments: [
        "DELETE FROM groups WHERE number = 50",
        "UPDATE groups SET number = 100 WHERE number = 50",
        "UPDATE groups SET last = 51 WHERE number = 50",
        "UPDATE groups SET time = 0 WHERE number = 50",
        "UPDATE groups SET digest = (SELECT digest FROM groups WHERE number = 49) WHERE number = 50",
        "UPDATE groups SET entries = (SELECT entries FROM groups WHERE number = 49) WHERE number = 50",
    ])
    func changedRowsAreNoticed(_ change: String) throws {
        let directory = Scratch()
        try directory.write { _ = try Self.write($0) }
        try directory.query(change)
        let file = try directory.open()
        #expect(file.lastRevision == 49)
        #expect(file.mayHaveLost)
    }

    /// Numbers that no log can hold lead to no arithmetic with them.
    @Test(arguments: [
        "UPDATE groups SET number = 9223372036854775807 WHERE number = 60",
        "UPDATE groups SET number = -9223372036854775808 WHERE number = 1",
        "UPDATE groups SET first = 9223372036854775807, last = 9223372036854775807 WHERE number = 60",
        "UPDATE groups SET start = 9223372036854775807, time = -9223372036854775808 WHERE number = 60",
        "UPDATE snapshots SET bytes = 9223372036854775807, parts = 9223372036854775807",
        "UPDATE snapshots SET start = -9223372036854775808, time = -9223372036854775808",
        "UPDATE snapshots SET revision = 9223372036854775807 WHERE revision = 40",
        "UPDATE snapshots SET bytes = 9223372036854775807 WHERE revision = 20",
        "UPDATE snapshots SET time = -9223372036854775808, start = -9223372036854775808 WHERE revision = 20",
        "UPDATE groups SET number = 'x' || number, first = NULL WHERE 0; UPDATE snapshots SET digest = '', bytes = 'many'",
    ])
    func impossibleNumbersAreDamage(_ change: String) throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        try directory.query(change)
        do throws(LogFailure) {
            let file = try directory.open()
            try Result { try Self.check(directory, file, groups, change) }.mapError {
                $0 as? LogFailure ?? .init(.io, path: "", "\($0)")
            }.get()
            _ = try file.trim(Retention(age: 1, bytes: 1), now: 1, budget: .max)
        } catch {
            #expect(error.kind == .damaged, "\(change): \(error)")
        }
    }

    @Test func damageBeforeTheNewestSnapshotCostsHistoryOnly() throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        try directory.query("UPDATE groups SET entries = '{}' WHERE first = 30")
        let file = try directory.open()
        #expect(file.lastRevision == 60)
        #expect(!file.mayHaveLost)
        #expect(file.notices.isEmpty)
        #expect(throws: LogFailure.self) { try directory.reader().groups() }
        #expect(try directory.reader().groups(after: 40) == Array(groups.suffix(20)))
    }

    /// A page that can't be read, with the oldest groups or the newest: it hides no others.
    @Test(arguments: [2, 60]) func zeroedPageCostsWhatIsInIt(_ revision: Int) throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        var bytes = directory.bytes
        // Leaves begin with 13; the root may still have bytes of when it was one.
        let text = Array("{\"revision\":\(revision)}".utf8)
        let leaves = bytes.ranges(of: text).map { $0.lowerBound / 4096 * 4096 }.filter { bytes[$0] == 13 }
        let page = try #require(leaves.first)
        bytes.replaceSubrange(page..<page + 4096, with: repeatElement(0, count: 4096))
        directory.bytes = bytes
        let file = try directory.open()
        #expect(file.lastRevision == (revision == 60 ? 59 : 60))
        #expect(file.mayHaveLost == (revision == 60))
        #expect(try directory.reader().groups(after: 20) == Array(groups[20..<file.lastRevision]))
        let loss = revision == 60 ? "commits after revision 59 are" : "the history through revision 20 is"
        #expect(file.notices.first?.contains("; \(loss) lost, ") == true, "\(file.notices)")
    }

    @Test(arguments: [1, 99, 4096, 40_000, 100_000])
    func cutFileIsRefusedOrSaved(_ size: Int) throws {
        let directory = Scratch()
        var groups: [Copy] = []
        try directory.write { groups = try Self.write($0) }
        let whole = directory.bytes
        directory.removeAll()
        directory.bytes = Array(whole.prefix(size))
        do throws(LogFailure) {
            let file = try directory.open()
            #expect(throws: Never.self) { try Self.check(directory, file, groups, "\(size) bytes") }
        } catch {
            #expect(error.kind == .damaged || error.kind == .notALog, "\(error)")
            #expect(directory.bytes.count == size)
        }
    }

    /// A replacement of a damaged file that was interrupted is ended by the next start, wherever it was.
    @Test(arguments: 0..<3)
    func interruptedReplacementGoesOn(_ step: Int) throws {
        let directory = Scratch()
        try directory.write { try $0.append("{\"good\":1}", first: 1, last: 1, time: 1) }
        let good = directory.bytes
        directory.removeAll()
        // As it is before the damaged file is moved, before its write-ahead log is, and after that.
        Scratch.write(good, to: directory.path + "-rescued")
        let damaged: [UInt8] = Array("damaged".utf8)
        Scratch.write(damaged, to: directory.path + (step == 0 ? "" : "-damaged-1"))
        Scratch.write(damaged, to: directory.path + (step < 2 ? "-wal" : "-damaged-1-wal"))
        #expect(try directory.open().lastRevision == 1)
        #expect(Scratch.read(directory.path + "-damaged-1") == damaged)
        #expect(Scratch.read(directory.path + "-damaged-1-wal") == damaged)
        #expect(!directory.names.contains("bus.sqlite-rescued"))
    }
}
