import BusLog

/// A snapshot of the log that was taken.
package struct TakenSnapshot {
    package var revision: Int
    package var bytes: Int
    /// Milliseconds since 1970.
    package var time: Int

    package init(revision: Int, bytes: Int, time: Int) {
        (self.revision, self.bytes, self.time) = (revision, bytes, time)
    }
}

extension TakenSnapshot {
    init(_ known: SnapshotInfo) { self.init(revision: known.revision, bytes: known.bytes, time: known.time) }
}

/// When the log needs a snapshot, and when what need not be kept is taken out of it. It belongs to the bus queue.
///
/// Snapshots never cost more than the log itself or its replay, and a start never replays much more than what is written between
/// two. Small ones are taken more often, as long as they add little to the log: from there on questions about the past replay.
/// And since the past is cut at snapshots, there is one now and then where little is written.
package struct SnapshotSchedule {
    package private(set) var last: TakenSnapshot
    package private(set) var isTaking = false
    /// The last attempt failed: no snapshot has what it would have had.
    private var hasFailed = false
    /// When there may be something to do although nothing is written, in monotonic milliseconds.
    package private(set) var nextLook = 0
    private let settings: LogSettings
    /// The shortest time for which the past of anything is kept, in milliseconds.
    private var age: Int
    /// What was written since the last one, and how many changes that are kept there had been when it became due.
    private var since: (bytes: Int, commits: Int, changesBefore: Int)
    /// What was written since the log was last trimmed.
    private var untrimmed = 0

    private static let commitsBetween = 16_384...100_000
    private static let snapshotBytesPerCommit = 16
    private static let bytesBetween = 1 << 20...16 << 20
    private static let changesBetween = 2_000_000
    /// The log is trimmed when so many bytes have been written, so that the file is never much larger than it may be.
    private static let bytesUntrimmed = 256 << 10...4 << 20
    /// What a batch takes in the file besides its entries.
    private static let bytesPerGroup = 128
    /// Writing this many bytes of a snapshot costs about as much as replaying a change.
    private static let bytesPerChange = 4
    /// Snapshots in the time for which the past is kept, where little is written.
    private static let snapshotsPerAge = 16
    /// For each so many bytes that a snapshot has, there is `LogSettings.look` between two, at least.
    private static let bytesPerLook = 16 << 20
    /// The longest time between two looks, in milliseconds: rules may change.
    private static let longestLook = 86_400_000

    /// - Parameters:
    ///   - revision: That of the bus. As if all commits since the last snapshot had entries: a start does not know how many do.
    ///   - changes: How many changes that are kept the engine has counted.
    ///   - age: The shortest time for which the past of anything is kept, in milliseconds.
    ///   - now: In monotonic milliseconds.
    ///   - time: In milliseconds since 1970.
    package init(
        _ settings: LogSettings, last: TakenSnapshot, revision: Int, changes: Int,
        age: Int, now: Int, time: Int
    ) {
        self.settings = settings
        self.last = last
        self.age = age
        self.last.time = min(last.time, time)
        since = (0, max(0, revision - last.revision), changes)
        nextLook = now + max(0, timeLeft(at: time))
    }

    // MARK: - What happens

    package mutating func noteWriting(_ bytes: Int, commits: Int) {
        since.bytes += bytes + Self.bytesPerGroup
        untrimmed += bytes + Self.bytesPerGroup
        since.commits += commits
    }

    /// What was being written is rolled back.
    package mutating func noteNotWritten(commits: Int) { since.commits -= commits }

    /// - Parameter commits: How many are being written, and will not be in it.
    package mutating func noteTaking(changes: Int, commits: Int) {
        (isTaking, since) = (true, (0, commits, changes))
    }

    /// Returns whether the next one may be due already. Much may have been committed meanwhile; a large one is left for the
    /// next batch to ask for.
    package mutating func noteTaken(_ snapshot: TakenSnapshot) -> Bool {
        (isTaking, hasFailed, last) = (false, false, snapshot)
        return commitsBetween < Self.commitsBetween.upperBound
    }

    /// The next one is tried when as much has been committed again, or as much time has passed.
    package mutating func noteFailed() { (isTaking, hasFailed) = (false, true) }

    /// The bus was rewound.
    package mutating func noteRewound(changes: Int) { since.changesBefore = changes }

    // MARK: - What is due

    package func isSnapshotDue(changes: Int) -> Bool {
        !isTaking
            && (since.commits >= commitsBetween || since.bytes >= max(bytesBetween, last.bytes)
                || changes - since.changesBefore >= max(Self.changesBetween, last.bytes / Self.bytesPerChange))
    }

    /// Whether the next start would have much to replay. One that is being taken is abandoned then.
    package func isSnapshotDueAtEnd(changes: Int, hasCode: Bool) -> Bool {
        isTaking || hasFailed || since.commits > (hasCode ? 0 : 1000) || since.bytes > 1 << 20
            || changes - since.changesBefore > 100_000
    }

    package mutating func takeTrimming() -> Bool {
        let range = Self.bytesUntrimmed
        let most = min(range.upperBound, max(range.lowerBound, settings.retain.bytes / 64))
        guard untrimmed >= most else { return false }
        untrimmed = 0
        return true
    }

    /// Whether a snapshot is due because the last one is old, and something was committed since.
    package mutating func look(now: Int, time: Int, age: Int) -> Bool {
        self.age = age
        // A snapshot whose clock was ahead is not waited for.
        last.time = min(last.time, time)
        let left = timeLeft(at: time)
        nextLook = now + (left > 0 ? left : min(Self.longestLook, interval))
        return left <= 0 && (since.commits > 0 || hasFailed) && !isTaking
    }

    // MARK: - Measures

    /// How long it is to the next look, in milliseconds; not above 0 where the last snapshot is old.
    private func timeLeft(at time: Int) -> Int {
        min(Self.longestLook, last.time + interval - time)
    }

    /// The time between two snapshots where little is written.
    private var interval: Int {
        max(age / Self.snapshotsPerAge, settings.look * (1 + last.bytes / Self.bytesPerLook))
    }

    /// History is cut at snapshots, so there are some within what is kept.
    private var bytesBetween: Int {
        let range = Self.bytesBetween
        return min(range.upperBound, max(range.lowerBound, settings.retain.bytes / 16))
    }

    private var commitsBetween: Int {
        let range = Self.commitsBetween
        return min(range.upperBound, max(range.lowerBound, last.bytes / Self.snapshotBytesPerCommit))
    }
}
