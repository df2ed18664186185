import BusLog
import Testing

/// The index says where commits are, and is believed for nothing else: whoever can't believe it reads the log itself.
@Suite struct LogIndexTests {
    private static func write(_ file: LogFile, through last: Int) throws {
        while file.lastRevision < last {
            let next = file.lastRevision + 1
            try file.append("{\"revision\":\(next)}", first: next, last: next, time: next * 1000)
        }
    }

    private static func block(_ groups: ClosedRange<Int>) -> IndexBlock {
        IndexBlock(
            groups: groups, terms: Array("terms of \(groups)".utf8), lists: Array("lists of \(groups)".utf8))
    }

    private static func open(_ directory: Scratch, blocks: [ClosedRange<Int>] = [1...10, 11...20]) throws
        -> LogFile
    {
        let file = try directory.open()
        try file.begin(epoch: "e")
        try write(file, through: 25)
        for groups in blocks { try file.add(block(groups)) }
        return file
    }

    @Test func blocksComeBackAsTheyWere() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        let reader = try directory.reader()
        #expect(try reader.indexedGroups() == [1...10, 11...20])
        let block = try #require(try reader.indexBlock(of: 11...20))
        #expect(block.terms == Self.block(11...20).terms && block.lists == Self.block(11...20).lists)
        // Whoever finds nothing among the terms reads no lists.
        #expect(try reader.indexBlock(of: 1...10) { $0 != Self.block(1...10).terms }?.lists == [])
        #expect(try reader.indexBlock(of: 1...9) == nil)
        #expect(try reader.indexBlock(of: 2...10) == nil)
        try file.close()
        #expect(try directory.reader().indexedGroups().count == 2)
    }

    @Test(
        arguments: [
            "UPDATE index_blocks SET terms = x'00' WHERE first = 11",
            "UPDATE index_blocks SET lists = x'00' WHERE first = 11",
            "UPDATE index_blocks SET last = 25 WHERE first = 11",
            "UPDATE index_blocks SET digest = 'x' WHERE first = 11",
            "UPDATE index_blocks SET terms = (SELECT terms FROM index_blocks WHERE first = 1), lists = (SELECT lists FROM index_blocks WHERE first = 1), digest = (SELECT digest FROM index_blocks WHERE first = 1) WHERE first = 11",
            // Another history, and one that ends earlier.
            "UPDATE groups SET digest = 'x' WHERE number = 20", "DELETE FROM groups WHERE number >= 20",
            "DELETE FROM index_blocks WHERE first = 11",
        ])
    func whatDoesNotFitTheLogIsNotBelieved(_ damage: String) throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try directory.query(damage)
        let reader = try directory.reader()
        for groups in try reader.indexedGroups() where groups.lowerBound == 11 {
            #expect(try reader.indexBlock(of: groups) == nil)
        }
        #expect(try reader.indexBlock(of: 11...20) == nil)
        #expect(try reader.indexBlock(of: 1...10) != nil)
        withExtendedLifetime(file) {}
    }

    @Test func rowsThatNameNoGroupsAreNone() throws {
        let directory = Scratch()
        let file = try Self.open(directory)
        try directory.query(
            """
            INSERT INTO index_blocks VALUES(5, 8, 'x', x'', x''), (15, 3, 'x', x'', x''), (-4, -1, 'x', x'', x'')
            """)
        #expect(try directory.reader().indexedGroups() == [1...10, 11...20])
        withExtendedLifetime(file) {}
    }

    /// A log from before there was an index, and one whose index an operator has dropped.
    @Test func aLogWithoutAnIndexIsIndexedWhenSomebodyDoes() throws {
        let directory = Scratch()
        try directory.write { try Self.write($0, through: 25) }
        try directory.query("DROP TABLE index_blocks")
        let file = try directory.open()
        try file.begin(epoch: "e")
        let reader = try directory.reader()
        #expect(try reader.indexedGroups() == [])
        try file.add(Self.block(1...25))
        #expect(try reader.indexedGroups() == [1...25])
        #expect(try reader.indexBlock(of: 1...25) != nil)
    }

    /// Blocks go with the last of their groups, and a log without an index is trimmed as ever.
    @Test(arguments: [false, true]) func blocksGoWithTheirGroups(_ isDropped: Bool) throws {
        let directory = Scratch()
        let file = try Self.open(directory, blocks: isDropped ? [] : [1...10, 11...20])
        if isDropped { try directory.query("DROP TABLE index_blocks") }
        for revision in [15, 25] {
            try file.beginSnapshot(revision: revision, time: revision * 1000)
            try file.addPart("s")
            try file.endSnapshot()
        }
        while try file.trim(Retention(age: 10_000, bytes: .max), now: 25_000, budget: 4) {}
        #expect(file.oldestRevision == 15)
        let reader = try directory.reader()
        #expect(try reader.groupNumbers() == 16...25)
        #expect(try reader.indexedGroups() == (isDropped ? [] : [11...20]))
        if !isDropped { #expect(try reader.indexBlock(of: 11...20) != nil) }
    }
}
