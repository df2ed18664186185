import Glibc

/// Moves a damaged log aside, whole, and replaces it by a new one that holds what is reliable.
///
/// The new one is made beside it under a name of its own, then renamed; if that is interrupted, the next start
/// continues where it ended, and at no time is there less than one complete log.
enum Rescue {
    /// Why a file is moved aside; part of its new name.
    enum Reason: String {
        case damaged
        /// Whole, and replaced by a copy. After an interrupted replacement it is named `damaged` all the same.
        case replaced
    }

    /// Copies what a survey found whole: the oldest snapshot from which history is complete, and everything after it.
    ///
    /// - Throws: `damaged` if a bus can't begin with that.
    /// - Returns: Where the copy is, which `place` moves to its final place, and what was found in it.
    static func copy(_ path: String, _ contents: LogContents, _ survey: LogSurvey, _ meta: [(String, String)])
        throws(LogFailure) -> (place: String, survey: LogSurvey)
    {
        try requireBeginning(contents, survey)
        let scratch = path + "-rescue"
        remove(scratch)
        do throws(LogFailure) {
            try fill(scratch, path, contents, survey, meta)
            let result = try LogSurvey(LogContents(Database(path: scratch, .reading)))
            guard result.problems.isEmpty else {
                throw contents.damaged("the copy of what is readable is not whole either")
            }
            return (scratch, result)
        } catch {
            remove(scratch)
            throw error
        }
    }

    /// Groups alone are no beginning, except of a member's copy, which begins with a replica or is replaced by another copy.
    private static func requireBeginning(
        _ contents: LogContents, _ survey: LogSurvey
    ) throws(LogFailure) {
        if survey.copy != nil { return }
        guard let base = survey.base else {
            throw contents.damaged("it has no whole snapshot to begin with")
        }
        let horizons = (try? contents.horizons()) ?? [:]
        if let type = horizons.filter({ $0.value.revision > base.revision }).keys.min() {
            throw contents.damaged(
                "the stores of \(type) are in its newest snapshots only, and these are not whole")
        }
    }

    private static func fill(
        _ scratch: String, _ path: String, _ contents: LogContents, _ survey: LogSurvey,
        _ meta: [(String, String)]
    ) throws(LogFailure) {
        try LogPlace.create(scratch)
        let copy = try Database(path: scratch, .writing)
        try copy.execute(
            "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = FULL")
        try copy.execute(Schema.create)
        try copy.execute("BEGIN")
        try Meta.set(meta, in: copy)
        let horizons = try? contents.horizons()
        try HorizonSchema.write(horizons ?? [:], in: copy)
        // What older groups lack is not known without them.
        let begin = horizons == nil ? survey.base?.revision ?? 0 : try oldest(contents, survey)
        for snapshot in try contents.snapshots() where snapshot.revision >= begin {
            try copySnapshot(snapshot, contents, into: copy)
        }
        do throws(LogFailure) {
            try copyGroups(from: first(after: begin, contents, survey), contents, survey, into: copy)
        } catch {
            // The survey ended at the same damage.
            guard error.kind == .damaged else { throw error }
        }
        if let shared = survey.copy { try copyShared(path, contents, shared, into: copy) }
        try copy.execute("COMMIT")
    }

    /// Moves a finished copy to the place of the damaged file; connections to either are closed.
    ///
    /// - Returns: The new place of the damaged file.
    static func place(
        _ scratch: String, at path: String, as reason: Reason = .damaged
    ) throws(LogFailure) -> String {
        try LogPlace.move(scratch, to: path + "-rescued")
        try LogPlace.syncDirectory(of: path)
        return try finish(path, as: reason) ?? path
    }

    /// Completes a replacement that was begun; nil if there was none.
    @discardableResult
    static func finish(_ path: String, as reason: Reason = .damaged) throws(LogFailure) -> String? {
        let rescued = path + "-rescued"
        guard LogPlace.exists(rescued) else { return nil }
        let aside = try moveAside(path, reason)
        try LogPlace.move(rescued, to: path)
        try LogPlace.syncDirectory(of: path)
        return aside
    }

    /// Files that belong to one log and must never lie beside another: SQLite would write them into that.
    static let pairedSuffixes = ["-journal", "-wal"]

    /// Moves the file, then those that belong to it.
    private static func moveAside(_ path: String, _ reason: Reason) throws(LogFailure) -> String {
        var aside = free(path, reason)
        if LogPlace.exists(path) {
            try LogPlace.move(path, to: aside)
        } else if let number = last(path, reason) {
            // It was moved before an interruption; its files belong beside it.
            aside = "\(path)-\(reason)-\(number)"
        }
        for suffix in pairedSuffixes where LogPlace.exists(path + suffix) {
            try LogPlace.move(path + suffix, to: aside + suffix)
        }
        if try !hasTailOfRescued(path) { try moveTail(path, to: aside) }
        unlink(path + "-shm")
        try LogPlace.syncDirectory(of: path)
        return aside
    }

    /// Whether the tail is of the history that the new file goes on with: it may continue what was saved of a damaged one.
    private static func hasTailOfRescued(_ path: String) throws(LogFailure) -> Bool {
        guard let tail = try TailContents(of: path, vfs: nil) else { return false }
        return try Meta.text("epoch", in: Database(path: path + "-rescued", .readingAlone)) == tail.epoch
    }

    /// Moves the tail, if there is one, beside a file that was moved.
    static func moveTail(_ path: String, to aside: String) throws(LogFailure) {
        let tail = LogTail.path(of: path)
        if LogPlace.exists(tail) { try LogPlace.move(tail, to: LogTail.path(of: aside)) }
    }

    /// Moves only the tail aside, which does not continue the file. Returns where it lies.
    static func moveTailAside(_ path: String) throws(LogFailure) -> String {
        let aside = free(path, .damaged)
        try moveTail(path, to: aside)
        try LogPlace.syncDirectory(of: path)
        return LogTail.path(of: aside)
    }

    /// Moves only the write-ahead log aside, when the file is better off without it.
    static func moveWriteAheadLogAside(_ path: String) throws(LogFailure) -> String {
        let aside = free(path, .damaged) + "-wal"
        unlink(path + "-shm")
        try LogPlace.move(path + "-wal", to: aside)
        try LogPlace.syncDirectory(of: path)
        return aside
    }

    // MARK: - Copying

    /// The revision of the oldest snapshot (0 is the beginning) from which all groups up to the end are whole.
    private static func oldest(_ contents: LogContents, _ survey: LogSurvey) throws(LogFailure) -> Int {
        let base = survey.base?.revision ?? 0
        var candidates: [Int] = [0]
        for snapshot in try contents.snapshots().reversed() where isWhole(snapshot, contents) {
            candidates.append(snapshot.revision)
        }
        for candidate in candidates where candidate < base {
            var reached = candidate
            do throws(LogFailure) {
                try contents.forEachGroup(from: contents.number(after: candidate)) {
                    group throws(LogFailure) in
                    guard group.first <= reached + 1 else { throw contents.damaged("groups are missing") }
                    reached = max(reached, group.last)
                    return reached < base
                }
            } catch {
                guard error.kind == .damaged else { throw error }
            }
            if reached >= base { return candidate }
        }
        return base
    }

    /// The number of the first group to copy. Where none comes after the snapshot, the newest is kept, as after trimming: what
    /// comes next, also out of the tail, has the number after that.
    private static func first(
        after begin: Int, _ contents: LogContents, _ survey: LogSurvey
    ) throws(LogFailure) -> Int {
        let first = try contents.number(after: begin)
        guard survey.number > 0, first > survey.number else { return first }
        var isNext = false
        try contents.forEachGroup(from: survey.number, isOne: true) { group throws(LogFailure) in
            isNext = group.last == begin
            return false
        }
        return isNext ? survey.number : first
    }

    private static func isWhole(_ snapshot: SnapshotInfo, _ contents: LogContents) -> Bool {
        (try? contents.forEachPart(of: snapshot) { _ in }) != nil
    }

    static func copySnapshot(_ snapshot: SnapshotInfo, _ contents: LogContents, into copy: Database)
        throws(LogFailure)
    {
        guard isWhole(snapshot, contents) else { return }
        let insertion = try Statement(copy, "INSERT INTO snapshot_parts VALUES(?1, ?2, ?3)")
        var number = 0
        var failure: LogFailure?
        try contents.forEachPart(of: snapshot) { records in
            insertion.bind(1, snapshot.revision)
            insertion.bind(2, number)
            insertion.bind(3, text: records)
            do throws(LogFailure) { try insertion.run() } catch { failure = error }
            number += 1
        }
        if let failure { throw failure }
        try copy.execute(snapshot.insertion)
    }

    static func copyGroups(
        from number: Int, _ contents: LogContents, _ survey: LogSurvey, into copy: Database,
        while isWanted: () -> Bool = { true }
    ) throws(LogFailure) {
        if survey.number == 0 { return }
        let insertion = try Statement(copy, Group.insertion)
        try contents.forEachGroup(from: number) { group throws(LogFailure) in
            guard group.number <= survey.number, isWanted() else { return false }
            try group.insert(with: insertion)
            return group.number < survey.number
        }
    }

    // MARK: - Names

    private static func last(_ path: String, _ reason: Reason) -> Int? {
        var number = 0
        while LogPlace.exists("\(path)-\(reason)-\(number + 1)") { number += 1 }
        return number == 0 ? nil : number
    }

    private static func free(_ path: String, _ reason: Reason) -> String {
        var number = (last(path, reason) ?? 0) + 1
        func isTaken(_ place: String) -> Bool {
            LogPlace.exists(place + "-wal") || LogPlace.exists(LogTail.path(of: place))
        }
        while isTaken("\(path)-\(reason)-\(number)") { number += 1 }
        return "\(path)-\(reason)-\(number)"
    }

    /// Makes a new file of what another holds, without free pages, that can shrink.
    ///
    /// - Parameter scratch: An empty file, or none.
    static func copyAll(_ source: Database, into scratch: String) throws(LogFailure) {
        if try source.integer("PRAGMA auto_vacuum") == 0 {
            // For the new file: of one that holds tables it changes nothing.
            try source.execute("PRAGMA auto_vacuum = INCREMENTAL")
        }
        let quoted = scratch.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        try source.execute("VACUUM INTO '\(quoted)'")
    }

    static func remove(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm", "-tail"] { unlink(path + suffix) }
    }
}

/// What becomes of a member's copy in a log that is replaced.
extension Rescue {
    /// Copies what a survey found whole: the oldest replica from which the batches are complete, and everything behind it.
    /// What is not whole up to its end is left out, and the new file says that another copy is needed.
    static func copyShared(
        _ path: String, _ contents: LogContents, _ survey: SharedCopySurvey, into copy: Database
    ) throws(LogFailure) {
        try copy.execute(SharedCopySchema.create)
        guard survey.isUsable, let shared = try contents.sharedCopy() else {
            if try Meta.text(CopyFact.discard.rawValue, in: copy) == nil {
                try Meta.write(CopyFact.discard.rawValue, discarded(path), in: copy)
            }
            return
        }
        let begin = try oldest(shared, survey)
        for replica in try shared.replicas() where replica.place >= begin {
            if shared.isWhole(replica) { try copyReplica(replica, shared, into: copy) }
        }
        let insertion = try Statement(copy, SharedBatch.insertion)
        try shared.forEachBatch(behind: begin, through: .max) { batch throws(LogFailure) in
            try batch.insert(with: insertion)
        }
    }

    /// Why the copy in a rescued log is not to be used.
    static func discarded(_ path: String) -> String {
        "What \(path) held of the shared log was damaged; take a new copy from another member."
    }

    /// The place of the oldest whole replica from which all batches up to the end are whole.
    private static func oldest(
        _ shared: SharedCopyContents, _ survey: SharedCopySurvey
    ) throws(LogFailure) -> Int {
        guard let base = survey.replica else { return 0 }
        for replica in try shared.replicas().reversed() where shared.isWhole(replica) {
            do throws(LogFailure) {
                try shared.forEachBatch(behind: replica.place, through: base.place) { _ throws(LogFailure) in
                }
                return replica.place
            } catch {
                guard error.kind == .damaged || error.kind == .lost else { throw error }
            }
        }
        return base.place
    }

    private static func copyReplica(
        _ replica: ReplicaInfo, _ shared: SharedCopyContents, into copy: Database
    ) throws(LogFailure) {
        let insertion = try Statement(copy, ReplicaInfo.partInsertion)
        var number = 0
        try shared.forEachPart(of: replica) { bytes throws(LogFailure) in
            insertion.bind(1, replica.place)
            insertion.bind(2, number)
            insertion.bind(3, blob: bytes)
            try insertion.run()
            number += 1
        }
        try copy.execute(replica.insertion)
    }
}
