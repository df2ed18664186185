import BusLog
import Testing

/// What types do not keep of their past goes in small steps, group by group; the rest stays as it was, for every reader.
@Suite struct ThinningTests {
    /// A hundred commits at times 1000, 2000…, with a snapshot after each tenth: each third is a beat's alone, each fifth a lamp's and
    /// a beat's, all others a lamp's.
    private static func open(_ directory: Scratch, notes: Bool = false) throws -> LogFile {
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...100 {
            try file.append(text(revision), first: revision, last: revision, time: revision * 1000)
            if notes, revision % 7 == 0 {
                try file.append("note", first: revision + 1, last: revision, time: revision * 1000)
            }
            if revision % 10 == 0 { try snapshot(file) }
        }
        return file
    }

    private static func text(_ revision: Int) -> String {
        if revision % 3 == 0 { return "beat \(revision)" }
        return revision % 5 == 0 ? "lamp \(revision)\nbeat \(revision)" : "lamp \(revision)"
    }

    private static func snapshot(_ file: LogFile) throws {
        try file.beginSnapshot(revision: file.lastRevision, time: file.lastRevision * 1000)
        try file.addPart("y")
        try file.endSnapshot()
    }

    private static func rest(_ entries: UnsafeRawBufferPointer, _ types: [String]) -> [UInt8]? {
        let lines = String(decoding: entries, as: UTF8.self).split(separator: "\n")
        let left = lines.filter { line in !types.contains { line.hasPrefix($0) } }
        return left.count == lines.count ? nil : Array(left.joined(separator: "\n").utf8)
    }

    private static func step(_ file: LogFile, budget: Int = 1000) throws -> Bool {
        try file.thin(budget: budget, rest: rest)
    }

    private static func thin(_ file: LogFile, _ type: String = "beat", through: Int? = nil) throws {
        try file.moveHorizons(
            [type: HorizonLimit(age: through == nil ? 0 : nil, through: through)], now: 100_000)
        while try step(file) {}
    }

    /// What is in the log, line by line, as whoever reads it from its beginning finds it.
    private static func lines(_ reader: LogReader, after revision: Int = 0) throws -> [String] {
        try reader.groups(after: revision).flatMap { $0.entries.split(separator: "\n").map(String.init) }
    }

    private static func expected(_ horizon: Int, after revision: Int = 0) -> [String] {
        (revision + 1...100).flatMap { one in
            text(one).split(separator: "\n").map(String.init)
                .filter { one > horizon || !$0.hasPrefix("beat") }
        }
    }

    @Test(arguments: [
        (HorizonLimit(age: 0, through: nil), 90), (HorizonLimit(age: 50_000, through: nil), 50),
        (HorizonLimit(age: 50_001, through: nil), 40), (HorizonLimit(age: nil, through: 42), 40),
        (HorizonLimit(age: 50_000, through: 72), 70), (HorizonLimit(age: 20_000, through: 72), 80),
        (HorizonLimit(age: nil, through: 9), 0), (HorizonLimit(age: nil, through: 100), 90),
    ])
    func horizonIsTheNewestSnapshotThatTheLimitsAllowButNotTheNewestOfAll(
        _ limit: HorizonLimit, _ horizon: Int
    ) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try file.moveHorizons(["beat": limit], now: 100_000)
        #expect(try file.horizons()["beat"] ?? 0 == horizon)
        // It never goes back, whatever the clock or the limits say.
        try file.moveHorizons(["beat": HorizonLimit(age: nil, through: 10)], now: 0)
        #expect(try file.horizons()["beat"] ?? 0 == max(horizon, 10))
        #expect(try directory.reader().horizons() == file.horizons())
        #expect(try directory.query("PRAGMA user_version") == "2\n")
    }

    @Test func nothingChangesWithoutAHorizon() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        #expect(try !Self.step(file))
        #expect(try directory.query("PRAGMA user_version") == "1\n")
        #expect(try Self.lines(directory.reader()) == Self.expected(0))
    }

    @Test(arguments: [1, 7, 1000], [false, true])
    func whatATypeDoesNotKeepGoesInSmallSteps(budget: Int, notes: Bool) throws {
        let directory = Scratch()
        let file = try Self.open(directory, notes: notes)
        try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100_000)
        func rows() throws -> Int { try Int(directory.query("SELECT count(*) FROM groups").dropLast())! }
        var before = try rows()
        var steps = 0
        var isMore = true
        while isMore {
            isMore = try Self.step(file, budget: budget)
            steps += 1
            let left = try rows()
            #expect(before - left <= max(2, budget))
            before = left
        }
        #expect(steps >= 90 / max(2, budget))
        // One for each commit or note that is left, and at most one for each snapshot that nothing leads up to.
        let beats = (1...90).count { $0 % 3 == 0 }
        let more = notes ? 14 : 0
        #expect(100 + more - beats...100 + more - beats + 9 ~= before, "\(before)")
        let found = try Self.lines(directory.reader())
        #expect(found.filter { $0 != "note" } == Self.expected(90))
        #expect(found.count { $0 == "note" } == more)
        // It is done, and not done again.
        let changes = try directory.query("SELECT sum(number), group_concat(digest) FROM groups")
        #expect(try !Self.step(file))
        #expect(try directory.query("SELECT sum(number), group_concat(digest) FROM groups") == changes)
    }

    /// From every revision on, and at every time.
    @Test func everythingIsFoundWhereItWas() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.thin(file, through: 50)
        try Self.thin(file, "lamp", through: 30)
        let reader = try directory.reader()
        let expected = (1...100).flatMap { one in
            Self.text(one).split(separator: "\n").map { (revision: one, line: String($0)) }
                .filter { $0.line.hasPrefix("beat") ? one > 50 : one > 30 }
        }
        for revision in 0..<100 {
            let found = try Self.lines(reader, after: revision)
            #expect(expected.suffix(found.count).map(\.line) == found, "\(revision)")
            #expect(found.count >= expected.count { $0.revision > revision }, "\(revision)")
            let last = try reader.lastRevision(by: revision * 1000)
            #expect(last == revision || last < revision && revision <= 50, "\(revision): \(last)")
        }
        // What starts and reads rely on: revisions have no gap.
        let groups = try reader.groups()
        #expect(groups.first?.first == 1)
        #expect(zip(groups, groups.dropFirst()).allSatisfy { $0.last + 1 == $1.first })
        #expect(try reader.group(atOrBefore: 0) == nil)
        #expect(try reader.group(atOrBefore: 200) == 100)
    }

    @Test(arguments: [1, 5, 20]) func thinningGoesOnAfterARestart(steps: Int) throws {
        let directory = Scratch()
        do {
            let file = try Self.open(directory)
            try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100_000)
            for _ in 0..<steps { #expect(try Self.step(file, budget: 3)) }
            #expect(try directory.query("SELECT thinned FROM horizons") == "0\n")
            try file.close()
        }
        let file = try directory.open()
        #expect(file.notices.isEmpty)
        #expect(file.lastRevision == 100)
        try file.begin(epoch: "e")
        while try Self.step(file, budget: 3) {}
        #expect(try Self.lines(directory.reader()) == Self.expected(90))
        #expect(try directory.query("SELECT type, revision, thinned FROM horizons") == "beat|90|90\n")
        // The next group follows, and horizons go on.
        for revision in 101...110 {
            try file.append("beat \(revision)", first: revision, last: revision, time: revision * 1000)
        }
        try Self.snapshot(file)
        try Self.thin(file)
        #expect(
            try Self.lines(directory.reader())
                == Self.expected(100) + (101...110).map { "beat \($0)" })
    }

    /// Groups that were thinned before are not looked at again.
    @Test func eachGroupIsThinnedOnce() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        var seen: [String] = []
        for through in [30, 60] {
            try file.moveHorizons(["beat": HorizonLimit(age: nil, through: through)], now: 100_000)
            while try file.thin(
                budget: 9,
                rest: { entries, types in
                    if !entries.isEmpty { seen.append(String(decoding: entries, as: UTF8.self)) }
                    return Self.rest(entries, types)
                })
            {}
        }
        #expect(seen == (1...60).map(Self.text))
    }

    /// However long groups are.
    @Test func eachStepReadsFewBytes() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        let long = String(repeating: "x", count: 100 << 10)
        for revision in 1...30 {
            try file.append("beat \(long)\nlamp", first: revision, last: revision, time: revision)
            if revision % 10 == 0 { try Self.snapshot(file) }
        }
        try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100)
        func bytes() throws -> Int {
            try Int(directory.query("SELECT sum(length(entries)) FROM groups").dropLast())!
        }
        var before = try bytes()
        var isMore = true
        while isMore {
            isMore = try Self.step(file)
            let left = try bytes()
            #expect(before - left <= 400 << 10)
            before = left
        }
        #expect(before == 10 * (long.utf8.count + 10) + 20 * 4)
    }

    /// A reader that began before goes on: nothing is missing but what goes, and nothing looks like damage.
    @Test(arguments: 0..<30) func readersGoOnMeanwhile(when: Int) throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        // So long that a reader does not read many at once.
        let long = String(repeating: "x", count: 8 << 10)
        for revision in 1...100 {
            let text = revision % 3 == 0 ? "beat" : "lamp \(revision) \(long)"
            try file.append(text, first: revision, last: revision, time: revision)
            if revision % 25 == 0 { try Self.snapshot(file) }
        }
        try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100)
        var seen: [String] = []
        var count = 0
        try directory.reader().forEachGroup(after: 0) { group throws(LogFailure) in
            let line = String(decoding: group.entries.prefix(8), as: UTF8.self)
            if line.hasPrefix("lamp") { seen.append(line) }
            count += 1
            if count >= when { _ = try file.thin(budget: 5, rest: Self.rest) }
            return true
        }
        let lamps = (1...100).filter { $0 % 3 != 0 }
        #expect(Set(seen) == Set(lamps.map { String("lamp \($0) xxx".prefix(8)) }))
    }

    @Test func snapshotOfAHorizonStays() throws {
        let directory = Scratch()
        let file = try directory.open()
        try file.begin(epoch: "e")
        for revision in 1...400 {
            try file.append("lamp", first: revision, last: revision, time: 1)
            try Self.snapshot(file)
            if revision == 300 {
                try file.moveHorizons(["beat": HorizonLimit(age: nil, through: 137)], now: 1)
            }
            while try file.trim(Retention(age: .max, bytes: .max), now: 1, budget: 1000) {}
            if 138..<300 ~= revision {
                try file.moveHorizons(["lamp": HorizonLimit(age: nil, through: 137)], now: 1)
            }
        }
        let horizons = try Set(file.horizons().values)
        #expect(horizons.contains { $0 > 0 && $0 <= 137 })
        #expect(try horizons.isSubset(of: directory.reader().snapshots().map(\.revision)))
    }

    /// Places in groups are others afterwards: a block of the index over them goes, and one that was made of what they were does
    /// not come.
    @Test func indexOfThinnedGroupsGoes() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        func block(_ groups: ClosedRange<Int>) -> IndexBlock {
            IndexBlock(groups: groups, terms: [1], lists: [2])
        }
        for first in stride(from: 1, to: 100, by: 20) { try file.add(block(first...first + 19)) }
        let steps = file.thinningSteps
        try Self.thin(file, through: 50)
        #expect(try directory.reader().indexedGroups() == [61...80, 81...100])
        try file.add(block(1...20), asOf: steps)
        #expect(try directory.reader().indexedGroups() == [61...80, 81...100])
        try file.add(block(1...20), asOf: file.thinningSteps)
        #expect(try directory.reader().indexBlock(of: 1...20) != nil)
    }

    @Test func copiesAreThinnedAsTheLogIs() throws {
        let directory = Scratch()
        let (copy, place) = (directory.directory + "/copy.sqlite", directory.path)
        do {
            let file = try Self.open(directory)
            try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100_000)
            // In the midst of it.
            for _ in 0..<5 { _ = try Self.step(file, budget: 5) }
            #expect(try directory.reader().copy(to: copy, while: { true }) == 100)
            try file.close()
        }
        #expect(try LogCopy(verifying: copy).revision == 100)
        let left = try Self.lines(directory.reader())
        #expect(try Self.lines(LogReader(path: copy)) == left)
        #expect(try LogReader(path: copy).horizons() == ["beat": 90])
        // A rescue, and a file that is written anew, and one that is replaced by a copy.
        try directory.query("INSERT INTO meta VALUES('suspect', '1')")
        do {
            let rescued = try directory.open()
            #expect(!rescued.notices.isEmpty)
            try rescued.begin(epoch: "e")
            try rescued.close()
        }
        #expect(try Self.lines(directory.reader()) == left)
        #expect(try directory.reader().horizons() == ["beat": 90])
        _ = try LogFile.compact(place, bootID: "boot")
        #expect(try Self.lines(directory.reader()) == left)
        _ = try LogRestore.restore(copy, to: place, epoch: "other") { _ in }
        let restored = try directory.open()
        try restored.begin(epoch: "other")
        while try Self.step(restored) {}
        #expect(try Self.lines(directory.reader()) == Self.expected(90))
    }

    @Test func thinnedLogIsTrimmedLikeAnyOther() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.thin(file, through: 50)
        while try file.trim(Retention(age: 65_000, bytes: .max), now: 100_000, budget: 3) {}
        #expect(file.oldestRevision == 40)
        #expect(try Self.lines(directory.reader(), after: 40) == Self.expected(50, after: 40))
        #expect(try directory.reader().groups(after: 40).first?.first == 41)
        while try file.trim(Retention(age: 0, bytes: .max), now: 100_000, budget: 3) {}
        #expect(try directory.reader().groups(after: 100).isEmpty)
        #expect(try directory.query("SELECT count(*) FROM groups") == "1\n")
    }

    /// What was trimmed in the midst of it need not be thinned any more.
    @Test(arguments: [30_000, 0]) func thinningGoesOnBehindWhatWasTrimmed(age: Int) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try file.moveHorizons(["beat": HorizonLimit(age: 0, through: nil)], now: 100_000)
        _ = try Self.step(file, budget: 3)
        while try file.trim(Retention(age: age, bytes: .max), now: 100_000, budget: 50) {}
        while try Self.step(file, budget: 3) {}
        let oldest = file.oldestRevision
        #expect(oldest == 100 - age / 1000)
        #expect(
            try Self.lines(directory.reader(), after: oldest)
                == (oldest < 100 ? Self.expected(90, after: oldest) : []))
    }

    /// Only where something was thinned may groups be missing.
    @Test func missingGroupIsDamageAllTheSame() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try Self.thin(file, through: 50)
        try file.close()
        for number in [60, 41] {
            try directory.query("DELETE FROM groups WHERE number = \(number)")
            let failure = #expect(throws: LogFailure.self) { try directory.reader().groups() }
            #expect(failure?.kind == .damaged)
        }
    }

    /// A group of notes has no revision that would be missed.
    @Test func missingNoteIsDamageBehindHorizons() throws {
        let directory = Scratch()
        let file = try Self.open(directory, notes: true)
        try Self.thin(file, through: 50)
        try file.close()
        #expect(try directory.reader().groups().count { $0.entries == "note" } == 14)
        try directory.query("DELETE FROM groups WHERE entries = 'note' AND last = 70")
        #expect(#expect(throws: LogFailure.self) { try directory.reader().groups() }?.kind == .damaged)
    }

    /// A log in which nothing is left at its beginning is cut there like any other.
    @Test func emptyGroupsEndAtSnapshots() throws {
        let directory = Scratch()
        do {
            let file = try directory.open()
            try file.begin(epoch: "e")
            for revision in 1...100 {
                let text = revision < 45 ? "beat" : "lamp"
                try file.append(text, first: revision, last: revision, time: revision * 1000)
                if revision % 10 == 0 { try Self.snapshot(file) }
            }
            try Self.thin(file)
            #expect(
                try directory.query("SELECT last FROM groups WHERE entries = ''") == "10\n20\n30\n40\n")
            while try file.trim(Retention(age: 80_000, bytes: .max), now: 100_000, budget: 50) {}
            #expect(file.oldestRevision == 20)
            try file.close()
        }
        #expect(try directory.open().oldestRevision == 20)
    }
}
