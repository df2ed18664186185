import CSQLite

/// What is in a tail: a line that names the history, then groups, each following from the one before, up to a zero.
///
/// A group that was being written when the machine went down is not whole, and was acknowledged to nobody: the tail ends before it.
/// Behind the end are groups of before the tail began again, which have lower numbers.
final class TailContents {
    /// The history that the groups are part of; nil if that can't be read.
    private(set) var epoch: String?
    private let bytes: UnsafeMutableRawBufferPointer
    private var records: [GroupRecord] = []
    /// Where the last of them ends.
    private var end = 0

    private static let beginning = "FluxBus tail of "

    /// The first line of a tail.
    static func header(of epoch: String) -> String {
        "\(beginning)\(epoch): number, first, last, time, start, bytes and digest of a group, then its entries\n"
    }

    /// Reads the tail of a log; nil if there is none.
    ///
    /// - Throws: What keeps the file from being read.
    convenience init?(of log: String, vfs: String?) throws(LogFailure) {
        let path = LogTail.path(of: log)
        guard try BesideFile.isThere(path, of: log, vfs: vfs) else { return nil }
        let file: BesideFile
        do throws(LogFailure) { file = try BesideFile(path, of: log, vfs: vfs, makes: false) } catch {
            // The owner may have removed it meanwhile; then all of it is in the log.
            guard try BesideFile.isThere(path, of: log, vfs: vfs) else { return nil }
            throw error
        }
        self.init(try file.read(LogTail.size))
        // One that was cut before the zero at its end is not what was written.
        let isEnded = end < bytes.count && bytes[end] == 0
        guard file.isInPlace(size: isEnded ? end + 1 : LogTail.size) else {
            (epoch, records, end) = (nil, [], bytes.count)
            return
        }
    }

    init(_ bytes: [UInt8]) {
        self.bytes = .allocate(byteCount: bytes.count, alignment: 16)
        self.bytes.copyBytes(from: bytes)
        epoch = Self.epoch(in: bytes)
        guard let epoch else { return }
        end = Self.header(of: epoch).utf8.count
        while let record = GroupRecord.read(UnsafeRawBufferPointer(self.bytes), at: end),
            records.last.map(record.follows) ?? true
        {
            records.append(record)
            end = record.entries.upperBound + 1
        }
    }

    deinit { bytes.deallocate() }

    private static func epoch(in bytes: [UInt8]) -> String? {
        guard let line = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let name = String(validating: bytes[..<line], as: UTF8.self)?.split(separator: ":").first,
            name.hasPrefix(beginning)
        else { return nil }
        let epoch = String(name.dropFirst(beginning.count))
        return bytes[...line].elementsEqual(header(of: epoch).utf8) ? epoch : nil
    }

    // MARK: - Groups

    /// The numbers of its groups; nil if there are none.
    var numbers: ClosedRange<Int>? {
        guard let first = records.first, let last = records.last else { return nil }
        return first.number...last.number
    }

    /// A group that is in it, valid as long as this is there.
    func group(_ number: Int) -> Group? {
        guard let first = records.first?.number, records.indices.contains(number - first) else { return nil }
        return records[number - first].group(in: UnsafeRawBufferPointer(bytes))
    }

    /// The number of its first group that comes after a revision, at least in part.
    func number(after revision: Int) -> Int? {
        records.first { $0.last > revision || $0.first > revision }?.number
    }

    /// The groups that come next, in order, after what a log holds.
    private func records(after survey: LogSurvey) -> ArraySlice<GroupRecord> {
        let later = records.drop { $0.number <= survey.number }
        guard
            let next = later.first,
            next.follows(number: survey.number, last: survey.lastRevision, written: survey.written)
        else { return [] }
        return later
    }

    /// Whether it holds a whole group with a later number that does not come next: something between them, which was acknowledged, is
    /// gone.
    private func hasMore(than number: Int) -> Bool {
        if let last = records.last, last.number > number { return true }
        let bytes = UnsafeRawBufferPointer(bytes)
        var place = end
        while place < bytes.count {
            if let record = GroupRecord.read(bytes, at: place), record.number > number { return true }
            guard let newline = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) else { return false }
            place = newline + 1
        }
        return false
    }
}

// MARK: - What becomes of it

extension TailContents {
    /// What a start finds in a tail, and has to do about it.
    enum Finding {
        /// All of it is in the log now.
        case settled
        /// Groups that were acknowledged are gone between the log and those in the tail, or within it.
        case lost
        /// It belongs to another history.
        case foreign
    }

    /// Writes what a log lacks into it, durably.
    ///
    /// - Parameter survey: What the log holds, without problems, before and after.
    func settle(into database: Database, _ survey: inout LogSurvey) throws(LogFailure) -> Finding {
        guard let epoch else {
            let isMissed = try Meta.hasTail(in: database)
            return isMissed || hasMore(than: survey.number) ? .lost : .settled
        }
        guard try Meta.text("epoch", in: database) == epoch else {
            // Its own is missing.
            if try Meta.hasTail(in: database) { return .lost }
            return records.isEmpty ? .settled : .foreign
        }
        let missing = records(after: survey)
        try database.execute("PRAGMA synchronous = FULL")
        if !missing.isEmpty {
            let insertion = try Statement(database, Group.insertion)
            try database.transaction { () throws(LogFailure) in
                for record in missing {
                    try record.group(in: UnsafeRawBufferPointer(bytes)).insert(with: insertion)
                }
            }
            for record in missing { survey.add(record.group(in: UnsafeRawBufferPointer(bytes))) }
        }
        return hasMore(than: survey.number) ? .lost : .settled
    }

    /// The revision that a log reaches with it.
    func reach(of survey: LogSurvey) -> Int { records(after: survey).last?.last ?? survey.lastRevision }
}
