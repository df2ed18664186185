import BusLog
import Testing

/// A copy is whole or it is none, and nothing in it is taken on trust.
@Suite struct LogCopyTests {
    private static func write(_ count: Int, to file: LogFile) throws {
        for _ in 0..<count {
            let revision = file.lastRevision + 1
            try file.append("{\"revision\":\(revision)}", first: revision, last: revision, time: revision)
            guard revision % 10 == 0 else { continue }
            try file.beginSnapshot(revision: revision, time: revision)
            try file.addPart("snapshot of \(revision)")
            try file.endSnapshot()
        }
    }

    private static func open(_ directory: Scratch) throws -> LogFile {
        let file = try directory.open(.never)
        try file.begin(epoch: "e")
        try write(100, to: file)
        return file
    }

    @Test func aCopyHoldsWhatTheLogHeldWhenItBegan() throws {
        let (directory, place) = (Scratch(), Scratch())
        let file = try Self.open(directory)
        while try file.trim(Retention(age: 70, bytes: 1 << 30), now: 100, budget: 1000) {}
        var isFirst = true
        let revision = try directory.reader().copy(to: place.path) {
            // Written while it is made.
            if isFirst { try? Self.write(20, to: file) }
            isFirst = false
            return true
        }
        #expect(revision == 100)
        #expect(try LogCopy(verifying: place.path).revision == 100)
        #expect(place.names == ["bus.sqlite"] && place.mode(of: "bus.sqlite") == 0o600)
        let copy = try place.open()
        #expect(copy.epoch == "e" && copy.lastRevision == 100 && copy.oldestRevision == 30 && copy.canShrink)
        #expect(try place.reader().groups(after: 30).map(\.first) == Array(31...100))
        #expect(try place.reader().snapshots().map(\.revision).last == 30)
    }

    @Test func aCopyThatIsGivenUpLeavesNothing() throws {
        let (directory, place) = (Scratch(), Scratch())
        let file = try Self.open(directory)
        for count in [0, 1, 5, 60] {
            var left = count
            #expect(throws: LogFailure.self) {
                try directory.reader().copy(to: place.path) {
                    left -= 1
                    return left >= 0
                }
            }
            #expect(place.names.isEmpty)
        }
        withExtendedLifetime(file) {}
    }

    /// Wherever it is: an old commit, a new one, a snapshot that no start would read.
    @Test(arguments: [
        "UPDATE groups SET entries = '{}' WHERE number = 2", "UPDATE groups SET time = 7 WHERE number = 99",
        "DELETE FROM groups WHERE number = 50", "UPDATE snapshot_parts SET records = 'x' WHERE revision = 20",
        "UPDATE snapshots SET time = 1 WHERE revision = 100",
    ])
    func damageIsFound(_ change: String) throws {
        let (directory, place) = (Scratch(), Scratch())
        let file = try Self.open(directory)
        _ = try directory.reader().copy(to: place.path) { true }
        try place.query(change)
        #expect(throws: LogFailure.self) { try LogCopy(verifying: place.path) }
        withExtendedLifetime(file) {}
    }

    /// A daemon that begins with what was being read as it stood is noticed.
    @Test func whoReadsACopyNoticesThatItIsWritten() throws {
        let directory = Scratch()
        try directory.write { try Self.write(10, to: $0) }
        let reader = try LogReader(standing: directory.path)
        #expect(directory.names == ["bus.sqlite", "bus.sqlite-lock"] && !reader.wasWritten)
        let file = try directory.open()
        try file.begin(epoch: "e")
        #expect(reader.wasWritten)
        #expect(try !LogReader(standing: directory.path).wasWritten)
    }
}
