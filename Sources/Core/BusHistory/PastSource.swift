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

    /// A revision at which all commits were made at or before a time, in milliseconds since 1970: the later, the less has to
    /// be read to find the last such commit.
    func lastRevision(by time: Int) throws(PastFailure) -> Int
}

/// A group of commits as stored in the log.
package struct PastGroup {
    /// Its revisions; a group of notes only has `first == last + 1`.
    package let first: Int
    package let last: Int
    /// Lines without a final newline; valid during the call that passes them.
    package let entries: UnsafeRawBufferPointer

    package init(first: Int, last: Int, entries: UnsafeRawBufferPointer) {
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
