import BusLog
import Testing

/// The log as its owner uses it: what is written is there again, in order, whole.
@Suite struct LogFileTests {
    @Test func newFileIsEmptyAndHasNoHistoryYet() throws {
        let directory = Scratch()
        let file = try directory.open()
        #expect(file.epoch == nil)
        #expect(!file.mayHaveLost)
        #expect(file.lastRevision == 0)
        #expect(file.oldestRevision == 0)
        #expect(file.notices.isEmpty)
        #expect(directory.mode(of: "bus.sqlite") == 0o600)
    }

    @Test func whatWasAppendedIsThereAfterReopening() throws {
        let directory = Scratch()
        try directory.write { file in
            try file.append("{\"revision\":1}\n{\"revision\":2}", first: 1, last: 2, time: 5)
            try file.append("{\"note\":1}", first: 3, last: 2, time: 6)
            try file.append("{\"revision\":3}", first: 3, last: 3, time: 7)
        }
        let file = try directory.open()
        #expect(file.epoch == "e")
        #expect(file.lastRevision == 3)
        #expect(!file.mayHaveLost)
        #expect(
            try directory.reader().groups() == [
                Copy(1...2, 5, "{\"revision\":1}\n{\"revision\":2}"), Copy(3..<3, 6, "{\"note\":1}"),
                Copy(3...3, 7, "{\"revision\":3}"),
            ])
    }

    /// A group without commits comes after the revision that was the last one then.
    @Test func groupsAfterARevisionAreFoundWhereverTheyBegin() throws {
        let directory = Scratch()
        var revisions: [ClosedRange<Int>] = []
        try directory.write { file in
            for size in [1, 5, 2, 1, 1, 40, 3, 1, 2, 2, 9] {
                let first = file.lastRevision + 1
                try file.append("{}", first: first, last: first + size - 1, time: 1)
                revisions.append(first...first + size - 1)
            }
            try file.append("{}", first: file.lastRevision + 1, last: file.lastRevision, time: 1)
        }
        let reader = try directory.reader()
        for revision in 0...revisions.last!.upperBound {
            let firsts = try reader.groups(after: revision).map(\.first)
            let expected = revisions.filter { $0.upperBound > revision }.map(\.lowerBound)
            #expect(firsts == expected + [revisions.last!.upperBound + 1])
        }
    }

    @Test func groupsByATimeAreFoundWhateverTheTimesAre() throws {
        let directory = Scratch()
        var groups: [(last: Int, time: Int)] = []
        try directory.write { file in
            for (index, time) in [3, 3, 4, 10, 10, 10, 11, 40, 41, 99].enumerated() {
                let first = file.lastRevision + 1
                try file.append("{}", first: first, last: first + index, time: time)
                groups.append((first + index, time))
            }
        }
        let reader = try directory.reader()
        for time in 0...101 {
            #expect(
                try reader.lastRevision(by: time) == groups.last { $0.time <= time }?.last ?? 0, "\(time)")
        }
        #expect(try Scratch().emptyReader().lastRevision(by: 5) == 0)
    }

    /// Behind a clock that was ahead, times begin again: what was asked for is what was last before that time.
    @Test func groupsBehindAClockThatWasAheadAreFoundByTheirTimes() throws {
        let directory = Scratch()
        func append(_ times: some Sequence<Int>, turnsBack: Bool) throws -> [(last: Int, time: Int)] {
            let file = try directory.open(.always)
            try file.begin(epoch: "e", turnsBack: turnsBack)
            defer { try? file.close() }
            return try times.map { time in
                let revision = file.lastRevision + 1
                try file.append("{}", first: revision, last: revision, time: time)
                return (revision, time)
            }
        }
        var groups = try append(Array(1...10) + Array(1000...1050), turnsBack: false)
        groups += try append(20...40, turnsBack: true)
        groups += try append(41...60, turnsBack: false)
        let reader = try directory.reader()
        for time in 20...60 {
            #expect(
                try reader.lastRevision(by: time) == groups.last { $0.time <= time }?.last, "\(time)")
        }
        #expect(try reader.lastRevision(by: 5) == 5)
        #expect(try reader.lastRevision(by: .max) == groups.last?.last)
    }

    /// Whoever reads may take its time: what it was given is a copy, and the write-ahead log is used again meanwhile.
    @Test func pausedReaderDoesNotLetTheWriteAheadLogGrow() throws {
        let directory = Scratch()
        let file = try directory.open(.never)
        try file.begin(epoch: "e")
        let text = String(decoding: [UInt8](repeating: 0x78, count: 1 << 20), as: UTF8.self)
        try file.append("{}", first: 1, last: 1, time: 1)
        var seen = 0
        try directory.reader().forEachGroup(after: 0) { group throws(LogFailure) in
            seen += 1
            if group.first == 1 {
                for revision in 2...40 { try file.append(text, first: revision, last: revision, time: 1) }
            }
            return true
        }
        #expect(seen == 40)
        let ahead = Scratch.read(directory.path + "-wal").count
        #expect(ahead < 16 << 20, "\(ahead)")
    }

    @Test func snapshotIsThereWholeOnlyOnceItHasEnded() throws {
        let directory = Scratch()
        try directory.write { file in
            try file.append("{}", first: 1, last: 1, time: 1)
            try file.beginSnapshot(revision: 1, time: 10)
            try file.addPart("one\n")
            try file.append("{}", first: 2, last: 2, time: 2)
            try file.addPart("two\n")
            #expect(try directory.reader().snapshots().isEmpty)
            try file.endSnapshot()
        }
        let reader = try directory.reader()
        #expect(try reader.snapshots().map(\.revision) == [1])
        #expect(try reader.snapshot(1) == Array("one\ntwo\n".utf8))
        #expect(throws: LogFailure.self) { try reader.snapshot(2) }
    }
}
