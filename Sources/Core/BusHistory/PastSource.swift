/// Where the past is kept: snapshots, and the groups of commits after them. The daemon has it in a
/// file; tests have it in memory.
package protocol PastSource {
    /// The revisions of all snapshots, ascending. History is complete after the first.
    func snapshots() throws(PastFailure) -> [Int]

    /// The bytes of a snapshot, checked.
    func snapshot(_ revision: Int) throws(PastFailure) -> [UInt8]

    /// Visits, in order, the groups with commits after a revision, checked, until `body` returns false.
    /// The first may begin before it.
    func forEachGroup(
        after revision: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure)

    /// The numbers of the oldest and the newest group; nil where there is none. Where the log is thinned, some between are not
    /// there any more.
    func groupNumbers() throws(PastFailure) -> ClosedRange<Int>?

    /// The number of the oldest group with commits after a revision; one more than the newest if none has any.
    func group(after revision: Int) throws(PastFailure) -> Int

    /// The number of the newest group up to one, which need not be there any more; nil if there is none.
    func group(atOrBefore number: Int) throws(PastFailure) -> Int?

    /// Through which revision the log may lack what concerns some types: they are known from the snapshot of that revision on.
    func horizons() throws(PastFailure) -> [String: Int]

    /// Visits the groups from a number on as `forEachGroup(after:)` does. `isOne`: only the first will be needed.
    func forEachGroup(
        from number: Int, isOne: Bool, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure)

    /// The groups of each block of the index, in order; others are not indexed.
    func indexedGroups() throws(PastFailure) -> [ClosedRange<Int>]

    /// The bytes of a block; nil if it can't be trusted. Its lists are read only if `wantsLists` returns true for its terms.
    func indexBlock(
        of groups: ClosedRange<Int>, wantsLists: ([UInt8]) -> Bool
    ) throws(PastFailure) -> (terms: [UInt8], lists: [UInt8])?

    /// A revision at which all commits were made at or before a time, in milliseconds since 1970: the later, the less has to
    /// be read to find the last such commit.
    func lastRevision(by time: Int) throws(PastFailure) -> Int
}

/// A group of commits as stored in the log.
package struct PastGroup {
    /// Ascending.
    package let number: Int
    /// Its revisions; a group of notes only has `first == last + 1`.
    package let first: Int
    package let last: Int
    /// Lines without a final newline; valid during the call that passes them.
    package let entries: UnsafeRawBufferPointer

    package init(number: Int, first: Int, last: Int, entries: UnsafeRawBufferPointer) {
        self.number = number
        self.first = first
        self.last = last
        self.entries = entries
    }
}

/// Why the past can't be read.
package struct PastFailure: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// Bytes are not what was written, or an entry can't be replayed.
        case damaged
        /// They can't be read.
        case unreadable
        /// Nothing of it is kept any more.
        case gone
        /// It fits into no reply.
        case tooLarge
        /// The caller no longer waits for it.
        case abandoned
        /// It was thinned while it was read: what was read is not all that there was.
        case thinned
    }
    package let kind: Kind
    /// One sentence that says what to do.
    package let message: String
    package var description: String { message }

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension PastFailure {
    static let thinned = PastFailure(
        .thinned, "The past of a type was thinned out while it was read; ask again.")

    /// Tries again what was thinned meanwhile, a few times: that takes a moment, and happens once for many thousand commits.
    static func retrying<Value>(
        _ body: () throws(PastFailure) -> Value
    ) throws(PastFailure) -> Value {
        for _ in 1..<5 {
            do throws(PastFailure) { return try body() } catch {
                guard error.kind == .thinned else { throw error }
            }
        }
        return try body()
    }
}
