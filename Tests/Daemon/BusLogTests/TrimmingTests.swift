import BusLog
import Testing

/// History goes from the front, up to a snapshot, in small steps; what is needed to begin again never goes.
@Suite struct TrimmingTests {
    /// A hundred commits of a hundred bytes at times 1000, 2000…, with a snapshot after each tenth.
    private static func open(_ directory: Scratch) throws -> LogFile {
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...100 {
            let text = String(repeating: "x", count: 100)
            try file.append(text, first: revision, last: revision, time: revision * 1000)
            if revision % 10 == 0 { try snapshot(file) }
        }
        return file
    }

    private static func snapshot(_ file: LogFile) throws {
        try file.beginSnapshot(revision: file.lastRevision, time: file.lastRevision * 1000)
        for _ in 0..<5 { try file.addPart(String(repeating: "y", count: 10)) }
        try file.endSnapshot()
    }

    private static func trim(_ file: LogFile, _ retention: Retention, budget: Int = 1000) throws {
        while try file.trim(retention, now: 100_000, budget: budget) {}
    }

    private static let unlimited = Retention(age: .max, bytes: .max)

    @Test func nothingGoesWhileAllLimitsHold() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.trim(file, Retention(age: 99_000, bytes: 1 << 20))
        #expect(file.oldestRevision == 0)
        #expect(try directory.reader().groups().count == 100)
    }

    /// Each limit for itself, at its edge: what is kept begins with the oldest snapshot within it.
    @Test(arguments: [
        (Retention(age: 99_000, bytes: .max), 0),
        (Retention(age: 98_999, bytes: .max), 10),
        (Retention(age: 50_000, bytes: .max), 50),
        (Retention(age: 49_999, bytes: .max), 60),
        (Retention(age: 0, bytes: .max), 100),
        (Retention(age: 50_000, bytes: 1 << 20), 50),
        // Not even the newest is within it, and stays.
        (Retention(age: .max, bytes: 1), 100),
    ])
    func historyBeginsWithTheOldestSnapshotWithinAllLimits(_ retention: Retention, _ oldest: Int) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.trim(file, retention)
        #expect(file.oldestRevision == oldest)
        let reader = try directory.reader()
        #expect(try reader.snapshots().last?.revision == max(10, oldest))
        #expect(try reader.groups(after: oldest).map(\.first) == Array(oldest + 1..<101))
        #expect(try reader.snapshot(max(10, oldest)).count == 50)
        if oldest > 0, oldest < 100 {
            #expect(throws: LogFailure.self) { try reader.groups(after: oldest - 2) }
        }
        let kept = (110 - max(10, oldest)) / 10
        #expect(try directory.query("SELECT count(*) FROM snapshot_parts") == "\(kept * 5)\n")
    }

    @Test func eachStepIsSmall() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        var steps = 0
        var rows = 100 + 50
        var goesOn = true
        while goesOn {
            goesOn = try file.trim(Retention(age: 50_000, bytes: .max), now: 100_000, budget: 7)
            steps += 1
            let left =
                try Int(
                    directory.query(
                        "SELECT (SELECT count(*) FROM groups) + (SELECT count(*) FROM snapshot_parts)"
                    ).dropLast())
            #expect(rows - (left ?? 0) <= 7)
            rows = left ?? 0
        }
        // 50 groups and four snapshots of five parts.
        #expect(steps >= 70 / 7 && steps <= 12, "\(steps)")
        #expect(rows == 50 + 30)
    }

    /// Who may dispatch makes a million equal commits in a second, which take no room: what is younger than the age stays.
    @Test func floodOfCommitsTakesNothingAway() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        for flood in 0..<3 {
            let first = 101 + flood * 1_000_000
            try file.append("{}", first: first, last: first + 999_999, time: 100_000)
            try Self.snapshot(file)
            try Self.trim(file, Retention(age: 99_000, bytes: 1 << 30))
        }
        #expect(file.oldestRevision == 0)
        #expect(try directory.reader().groups().prefix(100).map(\.first) == Array(1...100))
    }

    /// However long rows are, a step that removes them is over soon.
    @Test func eachStepRemovesFewBytes() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        let part = String(repeating: "y", count: 200 << 10)
        for revision in 1...20 {
            try file.append(
                String(repeating: "x", count: 100 << 10), first: revision, last: revision, time: revision)
            guard revision % 10 == 0 else { continue }
            try file.beginSnapshot(revision: revision, time: revision)
            for _ in 0..<4 { try file.addPart(part) }
            try file.endSnapshot()
        }
        func rows() throws -> [Int] {
            try directory.query(
                "SELECT coalesce(sum(length(entries)), 0) FROM groups; SELECT sum(length(records)) FROM snapshot_parts"
            ).split(separator: "\n").compactMap { Int($0) }
        }
        var before = try rows().reduce(0, +)
        var goesOn = true
        var steps = 0
        while goesOn {
            goesOn = try file.trim(Retention(age: 0, bytes: .max), now: 20, budget: 1000)
            let left = try rows().reduce(0, +)
            #expect(before - left <= 450 << 10)
            before = left
            steps += 1
        }
        #expect(try directory.reader().snapshots().map(\.revision) == [20])
        #expect(steps >= 10)
    }

    @Test func trimmedLogOpensAndGoesOn() throws {
        let directory = Scratch()
        do {
            let file = try Self.open(directory)
            try Self.trim(file, Retention(age: 0, bytes: .max))
            try file.close()
        }
        let file = try directory.open()
        #expect(file.lastRevision == 100)
        #expect(file.oldestRevision == 100)
        try file.begin(epoch: "e")
        try file.append("{}", first: 101, last: 101, time: 1)
        #expect(try directory.reader().groups(after: 100).map(\.first) == [101])
        // What was taken away still counts in what was written.
        #expect(try directory.query("SELECT max(start) FROM groups") == "10000\n")
    }

    @Test func snapshotsBetweenAreThinnedToEvenDistances() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...400 {
            try file.append("{}", first: revision, last: revision, time: 1)
            try Self.snapshot(file)
            try Self.trim(file, Self.unlimited)
        }
        let kept = try directory.reader().snapshots().map(\.revision)
        #expect(kept.prefix(2) == [400, 399])
        #expect(kept.count <= 40, "\(kept)")
        #expect(zip(kept, kept.dropFirst()).allSatisfy { $0 - $1 <= 400 / 8 }, "\(kept)")
        // History is still whole, since it was never cut.
        #expect(file.oldestRevision == 0)
        #expect(try directory.reader().groups().count == 400)
    }

    /// Parts without their end are those of a snapshot that a crash interrupted.
    @Test func orphanedPartsGoWhenTheFileIsOpened() throws {
        let directory = Scratch()
        do {
            let file = try Self.open(directory)
            try file.append("{}", first: 101, last: 101, time: 1)
            try file.beginSnapshot(revision: 101, time: 1)
            try file.addPart("never ended")
        }
        #expect(try directory.query("SELECT count(*) FROM snapshot_parts WHERE revision = 101") == "1\n")
        let file = try directory.open()
        #expect(try directory.query("SELECT count(*) FROM snapshot_parts WHERE revision = 101") == "0\n")
        #expect(try directory.query("SELECT count(*) FROM snapshot_parts") == "50\n")
        withExtendedLifetime(file) {}
    }

    @Test func trimmingWhileASnapshotIsWrittenLeavesItsParts() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try file.append("{}", first: 101, last: 101, time: 1)
        try file.beginSnapshot(revision: 101, time: 1)
        try file.addPart("one")
        try Self.trim(file, Retention(age: 0, bytes: .max), budget: 3)
        try file.addPart("two")
        try file.endSnapshot()
        #expect(try directory.reader().snapshot(101) == Array("onetwo".utf8))
    }
}
