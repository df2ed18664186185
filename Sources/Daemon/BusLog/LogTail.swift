import CSQLite
import Glibc

/// The newest groups, in front of the database: small ones are written here, one behind the other, and go into the database
/// many at a time (`LogFile.settle`). A lone commit then costs one write of a few hundred bytes and one sync, where a transaction
/// of SQLite takes locks and writes whole pages.
///
/// It is a file beside the log, `….sqlite-tail`, of a fixed length, so that no sync has to write a new one. `TailContents` says
/// what is in it and reads it. What is behind the end is left over from before it began again.
///
/// Guarantees: a group whose `append` returned is on disk, here or in the database. Nothing that is here is overwritten before it
/// is on disk there.
final class LogTail {
    /// Bytes in the file: enough for a thousand lone commits.
    static let size = 256 << 10
    /// The most bytes of entries: more of them are better written once, into the database.
    static let mostEntries = 16 << 10
    /// What is written at once to make the file. The kernel keeps what was written at once together, and counts all of it as written
    /// again where a part is.
    private static let piece = 4 << 10

    private let file: BesideFile
    private let bytes: UnsafeMutableRawBufferPointer
    /// Where the first group begins, and where the next one does.
    private let start: Int
    private var end: Int
    /// The groups that are not in the database, in order.
    private var unsettled: [GroupRecord] = []
    /// Set when it could not be written: nothing more is.
    private(set) var hasFailed = false

    /// Makes the file, or empties it. It is on disk when this returns.
    ///
    /// - Parameters:
    ///   - log: The log's path, without symbolic links.
    ///   - epoch: The name of the history that the groups are part of.
    init(of log: String, vfs: String?, epoch: String) throws(LogFailure) {
        file = try BesideFile(Self.path(of: log), of: log, vfs: vfs, makes: true)
        bytes = .allocate(byteCount: Self.size, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        let header = Array(TailContents.header(of: epoch).utf8)
        (start, end) = (header.count, header.count)
        bytes.copyBytes(from: header)
        for place in stride(from: 0, to: Self.size, by: Self.piece) {
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[place..<place + Self.piece]), at: place)
        }
        try file.sync()
    }

    deinit { bytes.deallocate() }

    /// Where the tail of a log is.
    static func path(of log: String) -> String { log + "-tail" }

    /// Whether a group with this many bytes of entries fits.
    func takes(_ count: Int) -> Bool {
        !hasFailed && count <= Self.mostEntries && end + GroupRecord.mostAround + count <= Self.size
    }

    /// Whether the database lacks some of it.
    var hasUnsettled: Bool { !unsettled.isEmpty }

    /// Whether it still has its name and its length. Where it was moved, deleted or cut, no start would find what is in it.
    var isInPlace: Bool { file.isInPlace(size: Self.size) }

    /// Writes a group for which there is room. It is on disk when this returns.
    func append(_ group: Group) throws(LogFailure) {
        let first = end
        let record = GroupRecord.write(group, to: bytes, at: &end)
        do throws(LogFailure) {
            // With the zero behind it.
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[first...end]), at: first)
            try file.sync()
        } catch {
            // It may be on disk all the same, and must not come back.
            hasFailed = true
            bytes[first] = 0
            end = first
            try? file.write(UnsafeRawBufferPointer(rebasing: bytes[first...first]), at: first)
            try? file.sync()
            throw error
        }
        unsettled.append(record)
    }

    /// Calls `body` with each group that the database lacks.
    func forEachUnsettled(_ body: (Group) throws(LogFailure) -> Void) throws(LogFailure) {
        for record in unsettled { try body(record.group(in: UnsafeRawBufferPointer(bytes))) }
    }

    /// All of it is in the database now.
    func settled() { unsettled.removeAll(keepingCapacity: true) }

    /// All of it is on disk there: the next group is written at the beginning. Behind the new end there are old ones, by their numbers.
    func restart() {
        precondition(unsettled.isEmpty, "What begins again has been moved into the database.")
        end = start
    }

    /// Removes the file, when all of it is on disk in the database.
    func remove() { file.remove() }
}

/// What is known of a group, and where its entries are among bytes that were read.
///
/// In a tail it is a line of six numbers and the digest, then the entries and a newline:
///
///     12 40 42 1795915861605 5120 180 8d3f0c5a11e2b790
///     {"revision":40,…
///
/// The numbers are the group's own, its first and last revision, the time, the bytes of entries before it, and its own.
struct GroupRecord {
    let number: Int
    let first: Int
    let last: Int
    let time: Int
    let start: Int
    let entries: Range<Int>

    /// The most bytes beside the entries, with the zero that ends the tail.
    static let mostAround = 6 * 20 + 16 + 4
    private static let space = UInt8(ascii: " ")
    private static let newline = UInt8(ascii: "\n")

    func group(in bytes: UnsafeRawBufferPointer) -> Group {
        Group(
            number: number, first: first, last: last, time: time, start: start,
            entries: UnsafeRawBufferPointer(rebasing: bytes[entries]))
    }

    /// Whether it comes next behind another one.
    func follows(_ other: GroupRecord) -> Bool {
        follows(number: other.number, last: other.last, written: other.start + other.entries.count)
    }

    /// Whether it comes directly after the group `number`, which ends with revision `last`; `written` counts the bytes of entries up to
    /// there.
    func follows(number: Int, last: Int, written: Int) -> Bool {
        self.number == number + 1 && first == last + 1 && start == written
    }

    // MARK: - Bytes

    /// Writes a group, and a zero behind it. `place` is moved onto the zero.
    static func write(
        _ group: Group, to bytes: UnsafeMutableRawBufferPointer, at place: inout Int
    ) -> GroupRecord {
        for value in [group.number, group.first, group.last, group.time, group.start, group.entries.count] {
            Decimal.write(value, to: bytes, at: &place)
            bytes[place] = space
            place += 1
        }
        group.digest.writeText(to: bytes, at: &place)
        bytes[place] = newline
        let entries = place + 1..<place + 1 + group.entries.count
        UnsafeMutableRawBufferPointer(rebasing: bytes[entries]).copyMemory(from: group.entries)
        place = entries.upperBound
        bytes[place] = newline
        place += 1
        bytes[place] = 0
        return GroupRecord(
            number: group.number, first: group.first, last: group.last, time: group.time, start: group.start,
            entries: entries)
    }

    /// Reads the group at a place; nil if there is none, or not what was written.
    static func read(_ bytes: UnsafeRawBufferPointer, at place: Int) -> GroupRecord? {
        var end = place
        func next() -> Int? {
            guard let number = Decimal.read(bytes, at: &end), number <= LogContents.most, end < bytes.count,
                bytes[end] == space
            else { return nil }
            end += 1
            return number
        }
        guard let number = next(), let first = next(), let last = next(), let time = next(),
            let start = next(), let count = next()
        else { return nil }
        let digest = end..<end + LogDigest.digits
        let entries = digest.upperBound + 1..<digest.upperBound + 1 + count
        guard entries.upperBound < bytes.count, bytes[digest.upperBound] == newline,
            bytes[entries.upperBound] == newline, last >= first - 1
        else { return nil }
        let record = GroupRecord(
            number: number, first: first, last: last, time: time, start: start, entries: entries)
        let isWhole = withUnsafeTemporaryAllocation(byteCount: LogDigest.digits, alignment: 1) { digits in
            var count = 0
            record.group(in: bytes).digest.writeText(to: digits, at: &count)
            return digits.elementsEqual(bytes[digest])
        }
        return isWhole ? record : nil
    }
}
