/// Reads rows of a log and uses none of them before its digest has been compared.
///
/// No call holds a read transaction when it returns or while it calls a closure: a reader that pauses must not keep the
/// writer's write-ahead log from being used again.
final class LogContents {
    private let database: Database
    /// What the database may lack; nil: nothing.
    private let tail: TailContents?
    private let rows: GroupRows
    private let search: Statement
    private let ends: Statement
    private let list: Statement
    private let part: Statement
    private var room: [UInt8] = []
    /// The largest revision of `horizons`, once that has turned out to be there.
    private var newestHorizon: Statement?
    /// Once it has turned out to be there.
    private var shared: SharedCopyContents?

    /// Bytes of entries that are copied at once, unless one group alone has more: whoever wants one commit need not wait for
    /// many.
    private static let batch = 64 << 10
    /// More than any number in a log can be; with those below it sums can't overflow.
    static let most = 1 << 56

    init(_ database: Database, _ tail: TailContents? = nil) throws(LogFailure) {
        (self.database, self.tail) = (database, tail)
        rows = try GroupRows(database, tail)
        search = try Statement(
            database, "SELECT number FROM groups WHERE last > ?1 OR first > ?1 ORDER BY number LIMIT 1")
        ends = try Statement(
            database, "SELECT (SELECT min(number) FROM groups), (SELECT max(number) FROM groups)")
        list = try Statement(
            database,
            "SELECT revision, time, parts, bytes, start, digest FROM snapshots ORDER BY revision DESC")
        part = try Statement(database, "SELECT records FROM snapshot_parts WHERE revision = ?1 AND part = ?2")
    }

    // MARK: - Groups

    /// The numbers of the oldest and newest group; nil if there is none.
    func numbers() throws(LogFailure) -> ClosedRange<Int>? {
        defer { ends.reset() }
        guard try ends.next(), !ends.isNull(0) else { return tail?.numbers }
        guard 1...Self.most ~= ends.integer(0), ends.integer(0)...Self.most ~= ends.integer(1) else {
            throw damaged("groups have impossible numbers")
        }
        return ends.integer(0)...max(ends.integer(1), tail?.numbers?.upperBound ?? 0)
    }

    /// The numbers of the oldest and newest group that can be read without passing damage: those behind it, or, where it hides
    /// the newest ones, those before it.
    func readableNumbers() throws(LogFailure) -> (numbers: ClosedRange<Int>?, hidesNewest: Bool) {
        do throws(LogFailure) {
            return (try numbers(), false)
        } catch {
            guard error.kind == .damaged else { throw error }
            let behind = try readable("DESC")
            let found = behind.isEmpty ? try readable("ASC") : behind
            guard let one = found.first, let other = found.last else { throw error }
            return (min(one, other)...max(one, other, tail?.numbers?.upperBound ?? 0), behind.isEmpty)
        }
    }

    private func readable(_ order: String) throws(LogFailure) -> [Int] {
        let all = try Statement(database, "SELECT number FROM groups ORDER BY number \(order)")
        do throws(LogFailure) {
            return try all.rowsBeforeDamage { 1...Self.most ~= all.integer(0) ? all.integer(0) : nil }
        } catch {
            guard error.kind == .damaged else { throw error }
            return []
        }
    }

    /// The number of the oldest group that comes after a revision; one more than the newest if none does.
    ///
    /// Bisected, which needs no index and so costs no page per append. Where that meets a group that is missing or
    /// can't be read, all are scanned; and if that is impossible too, such groups count as coming before, so that
    /// damage in old ones hides no new ones.
    func number(after revision: Int) throws(LogFailure) -> Int {
        if let number = try bisect(revision, unknown: nil) { return number }
        search.bind(1, revision)
        defer { search.reset() }
        do throws(LogFailure) {
            if try search.next() { return search.integer(0) }
            if let number = tail?.number(after: revision) { return number }
        } catch {
            guard error.kind == .damaged else { throw error }
        }
        return try bisect(revision, unknown: false) ?? 1
    }

    /// - Parameter unknown: What a group that is missing or can't be read counts as; nil makes the result nil.
    private func bisect(_ revision: Int, unknown: Bool?) throws(LogFailure) -> Int? {
        guard let numbers = try readableNumbers().numbers else { return 1 }
        // Everything from `after` on comes after the revision. The search starts at the newest
        // end, where most reads begin.
        var after = numbers.upperBound + 1
        var before = numbers.lowerBound
        var step = 1
        while after > before {
            let probe = max(before, after - step)
            guard let comes = try comes(probe, after: revision) ?? unknown else { return nil }
            if !comes {
                before = probe + 1
                break
            }
            after = probe
            step *= 2
        }
        while before < after {
            let middle = before + (after - before) / 2
            guard let comes = try comes(middle, after: revision) ?? unknown else { return nil }
            if comes { after = middle } else { before = middle + 1 }
        }
        return after
    }

    /// The digest of a group as the file has it; nil if there is no such group.
    func digest(of number: Int) throws(LogFailure) -> String? {
        rows.seek(number)
        defer { rows.reset() }
        return try rows.next() && rows.number == number ? rows.digest : nil
    }

    /// The number behind the groups from a number on that together have no more entries than so many bytes: behind one at
    /// least, and not after `last`.
    func end(from number: Int, within bytes: Int, notAfter last: Int) throws(LogFailure) -> Int {
        rows.seek(number)
        defer { rows.reset() }
        var start: Int?
        var end = number + 1
        while end < last, try rows.next() {
            guard let start else {
                start = rows.start
                continue
            }
            // It begins where the one before ends. A damaged one may begin anywhere.
            let (length, overflow) = rows.start.subtractingReportingOverflow(start)
            guard !overflow, length <= bytes else { break }
            end = max(end, min(last, rows.number))
        }
        return end
    }

    /// The last revision of the newest group that was written at or before a time; 0 if there is none. Groups that are
    /// missing or can't be read count as later.
    func lastRevision(by time: Int) throws(LogFailure) -> Int {
        guard let numbers = try numbers() else { return 0 }
        var (before, after) = (numbers.lowerBound, numbers.upperBound + 1)
        var found = 0
        // Before the first of these groups, times are those of a clock that was ahead.
        if let turned = try Meta.text("turned", in: database).flatMap({ Int($0) }), numbers.contains(turned),
            let first = try firstGroup(from: turned, by: time)
        {
            (before, found) = (first.number + 1, first.last)
        }
        while before < after {
            let middle = before + (after - before) / 2
            if let last = try lastRevision(of: middle, by: time) {
                found = max(found, last)
                before = middle + 1
            } else {
                after = middle
            }
        }
        return found
    }

    /// The first group from a number on, with its last revision; nil if it was written later.
    private func firstGroup(
        from number: Int, by time: Int
    ) throws(LogFailure) -> (number: Int, last: Int)? {
        rows.seek(number)
        defer { rows.reset() }
        return try rows.next() && rows.time <= time ? (rows.number, rows.last) : nil
    }

    /// The last revision of a group; nil if it was written later, is missing or can't be read.
    private func lastRevision(of number: Int, by time: Int) throws(LogFailure) -> Int? {
        rows.seek(number)
        defer { rows.reset() }
        do throws(LogFailure) {
            guard try nextRow(at: number), rows.time <= time else { return nil }
            return rows.last
        } catch {
            if error.kind == .damaged { return nil }
            throw error
        }
    }

    /// Whether a group comes after a revision, at least in part; nil if it is missing or can't be read.
    private func comes(_ number: Int, after revision: Int) throws(LogFailure) -> Bool? {
        rows.seek(number)
        defer { rows.reset() }
        do throws(LogFailure) {
            guard try nextRow(at: number) else { return nil }
            return rows.last > revision || rows.first > revision
        } catch {
            if error.kind == .damaged { return nil }
            throw error
        }
    }

    /// Finds a group, or, where that is gone because nothing was left in it, the one behind it, which has taken its revisions.
    private func nextRow(at number: Int) throws(LogFailure) -> Bool {
        guard try rows.next() else { return false }
        return rows.number == number ? true : try isThinned(through: rows.last)
    }

    /// Whether some groups up to a revision may be gone, because nothing was left in them.
    private func isThinned(through revision: Int) throws(LogFailure) -> Bool {
        if newestHorizon == nil, try HorizonSchema.isThere(in: database) {
            newestHorizon = try Statement(database, "SELECT max(revision) FROM horizons")
        }
        guard let newestHorizon else { return false }
        defer { newestHorizon.reset() }
        return try newestHorizon.next() ? revision <= newestHorizon.integer(0) : false
    }

    /// The horizons of types, and how far each has been thinned.
    func horizons() throws(LogFailure) -> [String: (revision: Int, thinned: Int)] {
        try HorizonSchema.all(in: database)
    }

    /// Calls `body` with each group from a number on, in order, each compared with its digest and the previous one.
    ///
    /// - Parameters:
    ///   - isOne: Only the first will be needed, so no others are read along with it.
    ///   - body: Returns false to end it.
    /// - Throws: `damaged` at the first group that is not whole or does not follow; `lost` if
    ///   some were trimmed meanwhile.
    func forEachGroup(
        from number: Int, isOne: Bool = false, _ body: (Group) throws(LogFailure) -> Bool
    ) throws(LogFailure) {
        var next = number
        var revision: Int?
        while true {
            let batch = try read(from: next, within: isOne ? 1 : Self.batch)
            if batch.isEmpty { return }
            for (row, digest) in batch {
                let isMerged = row.number > next ? try isThinned(through: row.last) : false
                guard row.number == next || isMerged else { throw try gap(at: next) }
                // What was read before it was merged comes again.
                if let revision, row.first != revision + 1, !isMerged || row.first > revision {
                    throw damaged("group \(row.number) does not follow")
                }
                revision = row.last
                next = row.number + 1
                let outcome = room.withUnsafeBytes { room in
                    Result { () throws(LogFailure) in
                        let group = row.group(in: room)
                        guard group.digest.text == digest, row.last >= row.first - 1 else {
                            throw damaged("group \(row.number) is not what was written")
                        }
                        return try body(group)
                    }
                }
                guard try outcome.get() else { return }
            }
        }
    }

    private func read(from number: Int, within bytes: Int) throws(LogFailure) -> [(
        GroupRecord, digest: String
    )] {
        room.removeAll(keepingCapacity: true)
        var batch: [(GroupRecord, digest: String)] = []
        rows.seek(number)
        defer { rows.reset() }
        do {
            while room.count < bytes, try rows.next() {
                let start = room.count
                room.append(contentsOf: rows.entries)
                let record = GroupRecord(
                    number: rows.number, first: rows.first, last: rows.last, time: rows.time,
                    start: rows.start, entries: start..<room.count)
                batch.append((record, rows.digest))
            }
        } catch {
            // Groups before the damage are still returned; the next call meets the damage again.
            if error.kind != .damaged || batch.isEmpty { throw error }
        }
        return batch
    }

    /// Why there is no group with a number although later ones exist.
    private func gap(at number: Int) throws(LogFailure) -> LogFailure {
        if let numbers = try numbers(), number < numbers.lowerBound { return tooOld() }
        return damaged("group \(number) is missing")
    }

    // MARK: - Snapshots

    /// The snapshots, newest first, that can be read before damage is met.
    func snapshots() throws(LogFailure) -> [SnapshotInfo] {
        try list.rowsBeforeDamage {
            // A row with impossible numbers is damaged, and no snapshot.
            guard (0..<5).allSatisfy({ 0...Self.most ~= list.integer($0) }) else { return nil }
            return SnapshotInfo(
                revision: list.integer(0), time: list.integer(1), parts: list.integer(2),
                bytes: list.integer(3), start: list.integer(4), digest: list.text(5))
        }
    }

    /// Calls `body` with each part in order, then compares the digest: the parts are valid only if this returns.
    ///
    /// - Parameter body: Receives bytes that are valid during the call. It must be quick, since it
    ///   runs in a read transaction.
    /// - Throws: `damaged` if it is not what was written; `lost` if it was trimmed meanwhile.
    func forEachPart(of snapshot: SnapshotInfo, _ body: (UnsafeRawBufferPointer) -> Void) throws(LogFailure) {
        let digest = try part.forEachPart(
            snapshot.parts, of: snapshot.revision,
            missing: { number throws(LogFailure) in
                guard try snapshots().contains(snapshot) else { return tooOld() }
                return damaged("part \(number) of the snapshot of revision \(snapshot.revision) is missing")
            }, body)
        guard digest.text([snapshot.time, snapshot.start]) == snapshot.digest, digest.bytes == snapshot.bytes
        else { throw damaged("the snapshot of revision \(snapshot.revision) is not what was written") }
    }

    /// Reads all groups and snapshots, including those that no start needs.
    ///
    /// - Throws: `damaged` at the first that is not what was written.
    func readThrough() throws(LogFailure) {
        for snapshot in try snapshots() { try forEachPart(of: snapshot) { _ in } }
        if let numbers = try numbers() { try forEachGroup(from: numbers.lowerBound) { _ in true } }
    }

    // MARK: - The shared log

    /// What it holds of a shared log; nil if it is no member's copy.
    ///
    /// - Throws: `damaged` if that is not even there.
    func sharedCopy() throws(LogFailure) -> SharedCopyContents? {
        if let shared { return shared }
        guard try isCopy() else { return nil }
        shared = try SharedCopyContents(database)
        return shared
    }

    /// Whether it says to be a member's copy of a bus.
    func isCopy() throws(LogFailure) -> Bool { try Meta.text(CopyName.bus, in: database) != nil }

    // MARK: - Failures

    func tooOld() -> LogFailure {
        LogFailure(
            .lost, path: database.path,
            "The log \(database.path) no longer reaches back that far; begin with its newest snapshot.")
    }

    func damaged(_ what: String) -> LogFailure { database.damaged(what) }
}

/// Commits that were written together.
package struct Group {
    /// Ascending within a file; consecutive but where it was thinned.
    package let number: Int
    /// The revision of the first commit.
    package let first: Int
    /// The revision of the last commit; `first - 1` when there is none. Such a group comes after revision `last`.
    package let last: Int
    /// Milliseconds since 1970.
    package let time: Int
    /// Bytes of entries in all groups before it, as they were written.
    let start: Int
    /// One JSON object per line, without a newline at the end. Valid only during the call that passes it.
    package let entries: UnsafeRawBufferPointer

    /// Covers everything, so that a row in another's place is noticed as well as a flipped bit.
    var digest: LogDigest {
        var digest = LogDigest()
        digest.add(number)
        digest.add(first)
        digest.add(last)
        digest.add(time)
        digest.add(start)
        digest.add(entries)
        return digest
    }

    static let insertion =
        "INSERT INTO groups(number, first, last, time, start, digest, entries) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"

    /// Writes it with a statement that `insertion` prepared.
    func insert(with statement: Statement) throws(LogFailure) {
        statement.bind(1, number)
        statement.bind(2, first)
        statement.bind(3, last)
        statement.bind(4, time)
        statement.bind(5, start)
        statement.bind(7, text: entries)
        try statement.run(6, digest.text)
    }
}
