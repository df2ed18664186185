import BusLog
import Glibc
import TestSupport
import Testing

/// A tail that is not as it was written, is missing, or lies beside another log: what is whole is used, and what is lost is told.
@Suite struct TailDamageTests {
    /// Also where nobody noted how far it had come, as in a copy of the files.
    @Test(arguments: [["", "-wal", "-lock"], ["", "-wal"]])
    func aMissingTailIsTold(_ suffixes: [String]) throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...30, to: file)
        let directory = TailedLog.killed(original, suffixes)
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
        let file = try TailedLog.open(original)
        try TailedLog.append(1...12, to: file)
        let used = Scratch.read(original.path + "-tail").lastIndex { $0 != 0 } ?? 0
        var generator = SeededGenerator(seed: 9)
        for place in stride(from: 0, through: used, by: 7) {
            for suffixes in [TailedLog.suffixes, ["", "-wal", "-tail"]] {
                let directory = TailedLog.killed(original, suffixes)
                TailedLog.change(directory) { $0[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                let next = try directory.open()
                let last = next.lastRevision
                #expect(last < 12, "byte \(place)")
                #expect(
                    try directory.reader().groups() == TailedLog.groups(1...12).filter { $0.last <= last })
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
        let file = try TailedLog.open(original)
        try TailedLog.append(1...20, to: file)
        let whole = Scratch.read(original.path + "-tail")
        let used = whole.lastIndex { $0 != 0 } ?? 0
        for seed in 0..<150 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let directory = TailedLog.killed(original)
            TailedLog.change(directory) { bytes in
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
                try directory.reader().groups() == TailedLog.groups(1...20).filter { $0.last <= last },
                "seed \(seed)")
            #expect(last == 20 || next.mayHaveLost, "seed \(seed)")
        }
        withExtendedLifetime(file) {}
    }

    @Test(arguments: [0, 100, 3000])
    func aTailThatWasCutIsTold(_ size: Int) throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...30, to: file)
        let directory = TailedLog.killed(original, ["", "-wal", "-tail"])
        TailedLog.change(directory) { $0 = Array($0.prefix(size)) }
        let next = try directory.open()
        #expect(next.mayHaveLost && next.notices.count == 1)
        withExtendedLifetime(file) {}
    }

    /// There is nothing behind the zero that ends it.
    @Test(arguments: [0, 30])
    func aTailThatWasCutBehindItsEndIsWhole(_ count: Int) throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        for revision in 1..<1 + count { try TailedLog.append(revision...revision, to: file) }
        let end = Scratch.read(original.path + "-tail").lastIndex { $0 != 0 }! + 1
        for size in [end, end + 1, 200_000] {
            let directory = TailedLog.killed(original, ["", "-wal", "-tail"])
            TailedLog.change(directory) { $0 = Array($0.prefix(size)) }
            let next = try directory.open()
            #expect(next.mayHaveLost == (size == end) && next.notices.count == (size == end ? 1 : 0))
            #expect(next.lastRevision == (size == end ? 0 : count))
        }
        withExtendedLifetime(file) {}
    }

    /// Nobody was told of the group that was being written when the machine went down.
    @Test func aTornEndIsNoLoss() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...12, to: file)
        let before = Scratch.read(original.path + "-tail").lastIndex { $0 != 0 } ?? 0
        let directory = TailedLog.killed(original, ["", "-wal", "-tail"])
        TailedLog.change(directory) { $0[before - 10] = 0 }
        let next = try directory.open(boot: "the next")
        #expect(next.lastRevision == 11 && !next.mayHaveLost && next.notices.isEmpty)
        withExtendedLifetime(file) {}
    }

    /// Whoever asks for the past has groups moved behind the end of the write-ahead log: not if that was cut.
    @Test func nothingIsMovedBehindACutWriteAheadLog() throws {
        let directory = Scratch()
        let file = try TailedLog.open(directory)
        for revision in 1...30 {
            try TailedLog.append(revision...revision, to: file)
            try file.settle()
        }
        try TailedLog.append(31...35, to: file)
        truncate(directory.path + "-wal", 10_000)
        let failure = #expect(throws: LogFailure.self) { try file.settle() }
        #expect(failure?.kind == .lost && failure?.message.contains("was cut while in use") == true)
        #expect(throws: LogFailure.self) { try TailedLog.append(36...36, to: file) }
        // The tail has what was cut off.
        let next = try TailedLog.killed(directory).open()
        #expect(next.lastRevision == 35 && !next.mayHaveLost)
        withExtendedLifetime(file) {}
    }

    /// Somebody puts a log in use, without its tail, where one of another history is left.
    @Test(arguments: [0, 5])
    func aMissingTailIsToldAlsoWhereAnotherLies(_ count: Int) throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...10, to: file)
        let other = Scratch()
        let another = try other.open()
        try another.begin(epoch: "f")
        try another.useTail()
        for revision in 1..<1 + count { try TailedLog.append(revision...revision, to: another) }
        let directory = TailedLog.killed(original, ["", "-wal"])
        Scratch.write(Scratch.read(other.path + "-tail"), to: directory.path + "-tail")
        let next = try directory.open()
        #expect(next.mayHaveLost && next.notices.count == 1)
        withExtendedLifetime((file, another)) {}
    }

    @Test func aTailOfAnotherHistoryIsKeptAside() throws {
        let original = Scratch()
        let file = try TailedLog.open(original)
        try TailedLog.append(1...10, to: file)
        let directory = Scratch()
        try directory.write { try TailedLog.append(1...3, to: $0) }
        try directory.query("UPDATE meta SET value = 'f' WHERE name IN ('epoch', 'begun')")
        unlink(directory.path + "-lock")
        let bytes = Scratch.read(original.path + "-tail")
        Scratch.write(bytes, to: directory.path + "-tail")
        #expect(try directory.reader().groups() == TailedLog.groups(1...3))
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
        try directory.write { try TailedLog.append(1...3, to: $0) }
        let older = directory.bytes
        let file = try TailedLog.open(directory)
        try TailedLog.append(4...8, to: file)
        // It begins again.
        try file.probe()
        try TailedLog.append(9...12, to: file)
        let copy = TailedLog.killed(directory, ["", "-tail"])
        copy.bytes = older
        #expect(throws: LogFailure.self) { try copy.reader().groups() }
        let next = try copy.open()
        #expect(next.lastRevision == 3 && next.mayHaveLost)
        #expect(copy.names.contains("bus.sqlite-damaged-1-tail"))
        withExtendedLifetime(file) {}
    }

    /// What was damaged is in the tail, too.
    @Test func whatATailGivesBackIsNotLost() throws {
        let original = Scratch()
        try original.write { file in
            try file.beginSnapshot(revision: 0, time: 0)
            try file.addPart("nothing")
            try file.endSnapshot()
        }
        let file = try TailedLog.open(original)
        try TailedLog.append(1...10, to: file)
        try file.settle()
        try TailedLog.append(11...12, to: file)
        let directory = TailedLog.killed(original)
        try directory.query("UPDATE groups SET digest = '' WHERE number = 5")
        let next = try directory.open()
        #expect(next.lastRevision == 12 && !next.mayHaveLost)
        #expect(next.notices.first?.contains("no commit is lost") == true, "\(next.notices)")
        #expect(try directory.reader().groups() == TailedLog.groups(1...12))
        withExtendedLifetime(file) {}
    }

    /// A damaged file is saved as far as it can be read, and goes on with the tail if nothing between is missing.
    @Test func aSavedFileGoesOnWithItsTail() throws {
        let original = Scratch()
        try original.write { file in
            try file.beginSnapshot(revision: 0, time: 0)
            try file.addPart("nothing")
            try file.endSnapshot()
            try TailedLog.append(1...200, to: file)
        }
        let file = try TailedLog.open(original)
        try TailedLog.append(201...210, to: file)
        var bytes = original.bytes
        let place = try #require(bytes.firstRange(of: Array("{\"revision\":90}".utf8))?.lowerBound)
        bytes[place] = UInt8(ascii: "[")
        // Only damage behind which nothing follows leaves the tail its place.
        let directory = TailedLog.killed(original)
        directory.bytes = bytes
        let next = try directory.open()
        #expect(next.lastRevision == 89 && next.mayHaveLost)
        #expect(directory.names.contains { $0.hasPrefix("bus.sqlite-damaged-") && $0.hasSuffix("-tail") })
        withExtendedLifetime(file) {}
    }
}
