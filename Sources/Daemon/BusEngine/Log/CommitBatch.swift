import BusJSON
import BusMachine

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Commits that are not on disk yet: the log's entries, and the connections whose output waits for them.
///
/// An entry is one commit, as one line of JSON without its newline; consecutive commits that differ in nothing but the
/// revision share one, which counts them in `times`.
final class CommitBatch {
    /// Whole entries, with newlines between them.
    let entries = ByteWriter(capacity: 4096)
    /// The revision before its first commit, and the last.
    @exclusivity(unchecked) private(set) var before = 0
    @exclusivity(unchecked) private(set) var last = 0
    /// How many of the commits between have an entry, and how many entries that makes so far.
    @exclusivity(unchecked) private(set) var commits = 0
    @exclusivity(unchecked) private(set) var entryCount = 0
    /// The revision through which it reserves them for commits without an entry; nil: it reserves none.
    @exclusivity(unchecked) var reserved: Int?
    /// The turn of its last entry, in milliseconds since 1970.
    @exclusivity(unchecked) private(set) var time = 0
    /// The connections whose output waits for it, from `Connection.outbox.released` on.
    @exclusivity(unchecked) var connections: [Connection] = []

    /// Sessions whose end it holds.
    @exclusivity(unchecked) var ends: [Session] = []

    /// The last commit, without its revision, and how often it came in a row; 0 when there is none.
    @exclusivity(unchecked) private var latest = ByteWriter(capacity: 256)
    @exclusivity(unchecked) private var times = 0
    /// Where the next one is written, for comparison.
    @exclusivity(unchecked) private var next = ByteWriter(capacity: 256)

    /// Entries of the log that several machines share, one behind the other, and the place of the last one; nil: none.
    @exclusivity(unchecked) private(set) var shared: SharedEntries?

    var isEmpty: Bool { times == 0 && entries.isEmpty && shared == nil && reserved == nil }

    /// Its size in memory, about.
    var size: Int { entries.count + latest.count + (shared?.bytes.count ?? 0) }

    func begin(after revision: Int) {
        entries.clear()
        if entries.reserved > 1 << 20 { entries.shrink() }
        times = 0
        if !ends.isEmpty { ends = [] }
        shared = nil
        (commits, entryCount, reserved) = (0, 0, nil)
        before = revision
        last = revision
    }

    /// Adds the next commit; `body` writes what follows its revision, each member with a comma before it. A commit that
    /// is `alone` is more than its actions, and shares its entry with no other.
    @inline(__always)
    func add(at time: Int, alone: Bool, _ body: (ByteWriter) -> Void) {
        next.clear()
        body(next)
        self.time = time
        commits += 1
        if times > 0, !alone, Self.areEqual(next.bytes, latest.bytes) {
            last += 1
            times += 1
            return
        }
        close()
        last += 1
        swap(&latest, &next)
        times = 1
    }

    /// Goes on to a revision without an entry.
    func pass(through revision: Int, at time: Int) {
        close()
        (last, self.time) = (revision, time)
    }

    private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        one.count == other.count && memcmp(one.baseAddress!, other.baseAddress!, one.count) == 0
    }

    /// Adds a line that is no commit.
    func addNote(at time: Int, _ body: (ByteWriter) -> Void) {
        close()
        self.time = time
        if !entries.isEmpty { entries.append(UInt8(ascii: "\n")) }
        body(entries)
    }

    /// Adds an entry of the shared log, as it is written.
    func add(shared entry: [UInt8], at place: Int, _ time: Int) {
        self.time = time
        if shared == nil { shared = SharedEntries(bytes: [], place: place) }
        shared!.bytes += entry
        shared!.place = place
    }

    /// Completes `entries` with everything that was added.
    func close() {
        if times == 0 { return }
        if !entries.isEmpty { entries.append(UInt8(ascii: "\n")) }
        entries.append("{\"revision\":", decimal: last - times + 1)
        if times > 1 {
            entries.append(",\"times\":", decimal: times)
        }
        entries.append(latest.bytes)
        entries.append(UInt8(ascii: "}"))
        entryCount += 1
        times = 0
    }
}

/// A batch to be written: its entries, which stay unchanged until the engine learns the result.
package struct SealedBatch {
    package let entries: ByteWriter
    /// Its first and last revision; a batch of notes only has `first == last + 1`.
    package let first: Int
    package let last: Int
    /// How many of its commits have an entry, and how many entries that makes: equal ones in a row share one.
    package let commits: Int
    package let entryCount: Int
    /// The revision through which it reserves them; nil: it reserves none.
    package let reserved: Int?
    /// Milliseconds since 1970.
    package let time: Int
    /// What of the shared log becomes durable with it.
    package let shared: SharedEntries?
}

/// Encoded entries of the log that several machines share, one behind the other.
package struct SharedEntries: Sendable {
    package var bytes: [UInt8]
    /// The place of the last one.
    package var place: Int
}
