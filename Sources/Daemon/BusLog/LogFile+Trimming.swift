/// History is trimmed from the front, up to a snapshot, in small steps between groups: first the snapshots to be
/// removed stop counting, then their parts and the groups before them are removed.
///
/// The pages that become free are given back to the file system in the same way, so that the file shrinks: SQLite moves the
/// file's last page to a free one, and cuts the file. It happens as soon as they are too many, because SQLite looks for each of
/// them in the list of all: with hundreds of thousands free at once, a step would take many times as long.
extension LogFile {
    /// Of the snapshots between the oldest and the newest two, at least this many are kept, at about equal distances, and at most
    /// that many as long as all of them are a small part of the log: what a read of the past replays is between two.
    private static let between = 16...64
    private static let snapshotShare = 16

    /// Bytes that one step removes at most, but for one row: what removes a long row reads all of it.
    static let bytesAtOnce = 256 << 10

    /// Pages that one step gives back.
    private static let pagesAtOnce = 64

    /// Takes a step towards the retention.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - budget: The most rows to remove.
    /// - Returns: Whether there is more to do.
    package func trim(_ retention: Retention, now: Int, budget: Int) throws(LogFailure) -> Bool {
        try usable()
        if try giveBack(within: retention) { return true }
        if try trimCopy(budget: budget) { return true }
        let snapshots = try contents.snapshots()
        let kept = try keep(snapshots, retention, now)
        let leaving = snapshots.filter { !kept.contains($0) }
        if !leaving.isEmpty {
            try write(
                "DELETE FROM snapshots WHERE revision IN (\(leaving.map { "\($0.revision)" }.joined(separator: ", ")))"
            )
            orphans += leaving.map { ($0.revision, $0.parts, max(1, $0.bytes / max(1, $0.parts))) }
        }
        var budget = budget
        var bytes = Self.bytesAtOnce
        while budget > 0, bytes > 0, let orphan = orphans.last {
            let count = min(budget, max(1, bytes / orphan.partBytes))
            let rest = max(0, orphan.parts - count)
            try write("DELETE FROM snapshot_parts WHERE revision = \(orphan.revision) AND part >= \(rest)")
            budget -= orphan.parts - rest
            bytes -= (orphan.parts - rest) * orphan.partBytes
            if rest == 0 { orphans.removeLast() } else { orphans[orphans.count - 1].parts = rest }
        }
        guard budget > 0, bytes > 0 else { return true }
        if try trimGroups(budget, bytes) { return true }
        if try giveBack(within: retention) { return true }
        if try cutFurther(snapshots, retention) { return true }
        cutFile()
        return false
    }

    /// Takes a step in giving all free pages back.
    ///
    /// - Returns: Whether there is more to do.
    package func compact() throws(LogFailure) -> Bool {
        try usable()
        if try giveBack(from: FileRoom(database), keeping: 0) { return true }
        cutFile()
        return false
    }

    /// Why nothing can be given back.
    package var cannotShrink: LogFailure {
        LogFailure(
            .io, path: path,
            "The log \(path) does not shrink, because an earlier version made it; stop the daemon and run fluxbusd --compact once."
        )
    }

    /// The size of the file and how much of it is free, in bytes, as of the newest transaction.
    package func room() throws(LogFailure) -> (bytes: Int, free: Int) {
        try usable()
        let room = try FileRoom(database)
        return (room.pages * room.pageSize, room.free * room.pageSize)
    }

    private func giveBack(within retention: Retention) throws(LogFailure) -> Bool {
        let room = try FileRoom(database)
        return try giveBack(from: room, keeping: room.spare(within: retention.bytes))
    }

    /// Gives pages back unless only so many bytes are free. The file is cut once the write-ahead log has been moved into it.
    private func giveBack(from room: FileRoom, keeping spare: Int) throws(LogFailure) -> Bool {
        let surplus = room.free - spare / room.pageSize
        guard canShrink, surplus > 0 else { return false }
        try write("PRAGMA incremental_vacuum(\(min(surplus, Self.pagesAtOnce)))")
        hasGivenBack = true
        checkpoints.checkpointer?.setGentle(true)
        return true
    }

    /// Has the file cut by the pages that were given back.
    private func cutFile() {
        guard hasGivenBack else { return }
        hasGivenBack = false
        checkpoints.checkpointer?.setGentle(false)
        checkpoints.cutFile()
    }

    /// Cuts history at the next snapshot, if all that had gone has been removed and what is left still takes too much.
    private func cutFurther(_ snapshots: [SnapshotInfo], _ retention: Retention) throws(LogFailure) -> Bool {
        guard try FileRoom(database).used > retention.bytes - retention.bytes / Retention.headroom,
            let next = snapshots.last(where: { $0.revision > oldestRevision })
        else { return false }
        oldestRevision = next.revision
        return true
    }

    private func trimGroups(_ budget: Int, _ bytes: Int) throws(LogFailure) -> Bool {
        guard oldestRevision > 0, let numbers = try contents.numbers() else { return false }
        let end = try contents.number(after: oldestRevision)
        // The newest group is kept, so that the next one's number follows it.
        let last = min(end, numbers.upperBound)
        guard last > numbers.lowerBound else { return false }
        let most = numbers.lowerBound + min(last - numbers.lowerBound, budget)
        let step = try contents.end(from: numbers.lowerBound, within: bytes, notAfter: most)
        let hasIndex = try IndexSchema.isThere(in: database)
        try write(
            "DELETE FROM groups WHERE number < \(step)"
                + (hasIndex ? "; DELETE FROM index_blocks WHERE first < \(step) AND last < \(step)" : ""))
        return step < last
    }

    /// The snapshots to keep. Moves `oldestRevision` to the oldest that is young enough.
    private func keep(_ snapshots: [SnapshotInfo], _ retention: Retention, _ now: Int) throws(LogFailure)
        -> [SnapshotInfo]
    {
        guard let newest = snapshots.first else { return [] }
        var cuts = oldestRevision > 0
        if !cuts { cuts = try !isOriginYoung(retention, now) }
        if cuts {
            let young = snapshots.last { now - $0.time <= retention.age } ?? newest
            oldestRevision = max(oldestRevision, young.revision)
        }
        return try thinned(snapshots.filter { $0.revision >= oldestRevision })
    }

    /// Whether the first group of all is young enough.
    private func isOriginYoung(_ retention: Retention, _ now: Int) throws(LogFailure) -> Bool {
        try now - database.integer("SELECT time FROM groups ORDER BY number LIMIT 1") <= retention.age
    }

    private func thinned(_ snapshots: [SnapshotInfo]) throws(LogFailure) -> [SnapshotInfo] {
        let average = max(1, snapshots.reduce(0) { $0 + $1.bytes } / max(1, snapshots.count))
        let affordable = (written - (snapshots.last?.start ?? 0)) / Self.snapshotShare / average
        let count = min(Self.between.upperBound, max(Self.between.lowerBound, affordable))
        let distance = (lastRevision - oldestRevision) / count
        let horizons = Set(try self.horizons().values)
        var kept: [SnapshotInfo] = []
        // From the oldest on; the newest two are kept, in case one of them turns out to be damaged.
        for (index, snapshot) in snapshots.reversed().enumerated() {
            let next = index + 1 < snapshots.count ? snapshots[snapshots.count - 2 - index] : snapshot
            if let before = kept.last, index < snapshots.count - 2, !horizons.contains(snapshot.revision),
                next.revision - before.revision <= distance
            {
                continue
            }
            kept.append(snapshot)
        }
        return kept
    }

    private func write(_ sql: String) throws(LogFailure) {
        try checkpointIfDue()
        // If it is not on disk after a crash, it is done again.
        try setFull(false)
        try database.execute(sql)
        wroteUnsynced()
    }
}

/// How much history is kept: as much as stays within both limits. The newest snapshot and what comes after it are
/// kept in any case.
///
/// Their number is no limit: commits that differ in nothing cost their sender and the log nothing, so anybody who may dispatch
/// would have a million of them take the place of all history in a second.
package struct Retention: Sendable {
    /// The greatest age of the oldest snapshot, in milliseconds.
    package var age: Int
    /// The size of the file.
    package var bytes: Int

    /// The part of `bytes` that is left free for what comes before the next trimming.
    static let headroom = 16

    package init(age: Int, bytes: Int) {
        self.age = age
        self.bytes = bytes
    }
}

/// What the file's pages are used for, as of the newest transaction.
struct FileRoom {
    let pages: Int
    let free: Int
    let pageSize: Int

    init(_ database: Database) throws(LogFailure) {
        pages = try database.integer("PRAGMA page_count")
        free = try database.integer("PRAGMA freelist_count")
        pageSize = try database.integer("PRAGMA page_size")
    }

    /// Bytes in use.
    var used: Int { (pages - free) * pageSize }

    /// Bytes of free pages that stay, because what comes next takes them: as many as the file may still grow by, and no more
    /// than a quarter of what is in use.
    func spare(within bytes: Int) -> Int { max(Self.leastSpare, min(used / 4, bytes - used)) }

    private static let leastSpare = 64 << 10
}
