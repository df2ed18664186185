/// The index of the log, in blocks. Each block indexes successive groups. Its contents are opaque here: `BusHistory` writes and
/// reads them.
///
/// Groups are indexed some time after they are written, so that a commit writes nothing else; groups after the last block are
/// scanned. A block is used only for the groups that it names, and only if its digest fits it and the last of these groups. A
/// block that is missing, damaged or of another history costs time, and hides nothing.
enum IndexSchema {
    /// Also for logs that were made before there was an index. A version that does not know it leaves it alone.
    static let create = """
        CREATE TABLE IF NOT EXISTS index_blocks( -- where commits are, by whom and what they concern; made anew if it is dropped
            first INTEGER PRIMARY KEY, -- number of the first group
            last INTEGER NOT NULL,     -- of the last one
            digest TEXT NOT NULL,      -- of first, last and the last group's digest with terms, and with lists
            terms BLOB NOT NULL, lists BLOB NOT NULL
        )
        """

    static func isThere(in database: Database) throws(LogFailure) -> Bool {
        try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'index_blocks'") > 0
    }
}

/// A block of the index.
package struct IndexBlock: Sendable {
    /// The numbers of its groups.
    package let groups: ClosedRange<Int>
    /// What can be looked for.
    package let terms: [UInt8]
    /// Where it is.
    package let lists: [UInt8]

    package init(groups: ClosedRange<Int>, terms: [UInt8], lists: [UInt8]) {
        (self.groups, self.terms, self.lists) = (groups, terms, lists)
    }

    fileprivate static func digest(_ groups: ClosedRange<Int>, behind last: String, _ part: [UInt8]) -> String
    {
        var digest = LogDigest()
        digest.add(groups.lowerBound)
        digest.add(groups.upperBound)
        for bytes in [Array(last.utf8), part] { bytes.withUnsafeBytes { digest.add($0) } }
        return digest.text
    }
}

extension LogFile {
    /// Adds the next block of the index. Its groups are in the file, and in no other block. It needs no sync: it comes after
    /// its groups in the write-ahead log, so it is never on disk without them.
    ///
    /// - Parameter steps: `thinningSteps` when its groups were read; if it is another now, the block is not added.
    package func add(_ block: IndexBlock, asOf steps: Int? = nil) throws(LogFailure) {
        precondition(block.groups.upperBound <= number, "What is indexed has been appended.")
        try usable()
        if let steps, steps != thinningSteps { return }
        guard let last = try contents.digest(of: block.groups.upperBound) else { return }
        try checkpointIfDue()
        try setFull(false)
        try database.execute(IndexSchema.create)
        let insertion = try Statement(
            database,
            "INSERT OR REPLACE INTO index_blocks(first, last, digest, terms, lists) VALUES(?1, ?2, ?3, ?4, ?5)"
        )
        insertion.bind(1, block.groups.lowerBound)
        insertion.bind(2, block.groups.upperBound)
        let digest = [block.terms, block.lists].map { IndexBlock.digest(block.groups, behind: last, $0) }
            .joined()
        var outcome: Result<Void, LogFailure> = .success(())
        block.terms.withUnsafeBytes { terms in
            block.lists.withUnsafeBytes { lists in
                insertion.bind(4, blob: terms)
                insertion.bind(5, blob: lists)
                outcome = Result { () throws(LogFailure) in try insertion.run(3, digest) }
            }
        }
        try outcome.get()
        wroteUnsynced()
    }
}

/// Reads the index.
extension LogReader {
    /// The groups of each block, in their order.
    package func indexedGroups() throws(LogFailure) -> [ClosedRange<Int>] {
        guard try IndexSchema.isThere(in: database) else { return [] }
        let list = try Statement(database, "SELECT first, last FROM index_blocks ORDER BY first")
        defer { list.reset() }
        var found: [ClosedRange<Int>] = []
        while try list.next() {
            let (first, last) = (list.integer(0), list.integer(1))
            // A block that overlaps another, or names groups that no log has, is damaged.
            guard first > found.last?.upperBound ?? 0, last >= first, last <= LogContents.most else {
                continue
            }
            found.append(first...last)
        }
        return found
    }

    /// The block of these groups; nil if there is none, or it can't be trusted. Its lists are read only if `wantsLists` returns
    /// true for its terms.
    package func indexBlock(
        of groups: ClosedRange<Int>, wantsLists: ([UInt8]) -> Bool = { _ in true }
    ) throws(LogFailure) -> IndexBlock? {
        if blocks == nil {
            blocks = try Statement(
                database, "SELECT last, digest, terms, lists FROM index_blocks WHERE first = ?1")
        }
        guard let blocks else { return nil }
        blocks.bind(1, groups.lowerBound)
        defer { blocks.reset() }
        guard try blocks.next(), blocks.integer(0) == groups.upperBound,
            let last = try contents.digest(of: groups.upperBound)
        else { return nil }
        let (digest, terms) = (blocks.text(1), Array(blocks.bytes(2)))
        guard digest.hasPrefix(IndexBlock.digest(groups, behind: last, terms)) else { return nil }
        let lists = wantsLists(terms) ? Array(blocks.bytes(3)) : []
        guard lists.isEmpty || digest.hasSuffix(IndexBlock.digest(groups, behind: last, lists)) else {
            return nil
        }
        return IndexBlock(groups: groups, terms: terms, lists: lists)
    }

    /// The numbers of the groups there are; nil if there is none.
    package func groupNumbers() throws(LogFailure) -> ClosedRange<Int>? { try contents.numbers() }

    /// The number of the oldest group that comes after a revision, at least in part; one more than the newest if none does.
    package func group(after revision: Int) throws(LogFailure) -> Int { try contents.number(after: revision) }

    /// Calls `body` with each group from a number on, as `forEachGroup(after:)` does.
    ///
    /// - Parameter isOne: Only the first will be needed.
    package func forEachGroup(
        from number: Int, isOne: Bool = false, _ body: (Group) throws(LogFailure) -> Bool
    ) throws(LogFailure) {
        try contents.forEachGroup(from: number, isOne: isOne, body)
    }
}
