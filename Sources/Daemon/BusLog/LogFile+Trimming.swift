/// History is trimmed from the front, up to a snapshot, in small steps between groups: first the snapshots to be
/// removed stop counting, then their parts and the groups before them are removed.
extension LogFile {
    /// Of the snapshots between the oldest and the newest two, at least this many are kept, at about equal distances, and at most
    /// that many as long as all of them are a small part of the log: what a read of the past replays is between two.
    private static let between = 16...64
    private static let snapshotShare = 16

    /// Bytes that one step removes at most, but for one row: what removes a long row reads all of it.
    static let bytesAtOnce = 256 << 10

    /// Takes a step towards the retention.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - budget: The most rows to remove.
    /// - Returns: Whether there is more to do.
    package func trim(_ retention: Retention, now: Int, budget: Int) throws(LogFailure) -> Bool {
        try usable()
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
        return try trimGroups(budget, bytes)
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

    /// The snapshots to keep. Sets `oldestRevision`.
    private func keep(_ snapshots: [SnapshotInfo], _ retention: Retention, _ now: Int) throws(LogFailure)
        -> [SnapshotInfo]
    {
        guard let newest = snapshots.first else { return [] }
        var bytes = snapshots.reduce(0) { $0 + $1.bytes }
        var cuts = oldestRevision > 0
        if !cuts { cuts = try !originHolds(retention, now, bytes) }
        if cuts {
            var oldest = newest
            for snapshot in snapshots.reversed() {
                let holds =
                    now - snapshot.time <= retention.age
                    && written - snapshot.start + bytes <= retention.bytes
                if holds {
                    oldest = snapshot
                    break
                }
                bytes -= snapshot.bytes
            }
            oldestRevision = oldest.revision
        }
        return thinned(snapshots.filter { $0.revision >= oldestRevision })
    }

    /// Whether everything ever written is within the limits.
    private func originHolds(_ retention: Retention, _ now: Int, _ bytes: Int) throws(LogFailure) -> Bool {
        guard written + bytes <= retention.bytes else { return false }
        return try now - database.integer("SELECT time FROM groups ORDER BY number LIMIT 1") <= retention.age
    }

    private func thinned(_ snapshots: [SnapshotInfo]) -> [SnapshotInfo] {
        let average = max(1, snapshots.reduce(0) { $0 + $1.bytes } / max(1, snapshots.count))
        let affordable = (written - (snapshots.last?.start ?? 0)) / Self.snapshotShare / average
        let count = min(Self.between.upperBound, max(Self.between.lowerBound, affordable))
        let distance = (lastRevision - oldestRevision) / count
        var kept: [SnapshotInfo] = []
        // From the oldest on; the newest two are kept, in case one of them turns out to be damaged.
        for (index, snapshot) in snapshots.reversed().enumerated() {
            let next = index + 1 < snapshots.count ? snapshots[snapshots.count - 2 - index] : snapshot
            if let before = kept.last, index < snapshots.count - 2,
                next.revision - before.revision <= distance
            {
                continue
            }
            kept.append(snapshot)
        }
        return kept
    }

    private func write(_ sql: String) throws(LogFailure) {
        try checkpoints.runIfDue()
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
    /// Most bytes of entries and snapshots.
    package var bytes: Int

    package init(age: Int, bytes: Int) {
        self.age = age
        self.bytes = bytes
    }
}
