import CSQLite
import Glibc

/// A copy of a log, as one file that nothing belongs to.
package struct LogCopy: Sendable {
    /// The revision of the last commit.
    package let revision: Int

    /// Where a copy of a log is made. What a crash leaves there is removed when the log is opened.
    package static func scratch(of log: String) -> String { log + "-backup" }

    /// Reads a copy to its end without writing anything beside it.
    ///
    /// - Throws: `damaged` unless every commit and every snapshot in it is what was written.
    package init(verifying path: String) throws(LogFailure) {
        try LogPlace.checkPresence(of: path)
        let database = try Database(path: path, .readingAlone)
        try Schema.check(database)
        let contents = try LogContents(database)
        let survey = try LogSurvey(contents)
        if let problem = survey.problems.first { throw LogFailure(.damaged, path: path, problem) }
        try contents.readThrough()
        revision = survey.lastRevision
    }
}

extension LogReader {
    /// Copies what the log holds now to a new file, for its owner only: commits, snapshots and what a member has of the shared
    /// log, each compared with its digest. The index is made anew by whoever uses the copy. No read takes longer than that of a
    /// few commits, so the writer's write-ahead log does not grow meanwhile.
    ///
    /// - Parameters:
    ///   - path: Where the file is made; it is complete and not synced when this returns, and gone after a throw.
    ///   - isWanted: Asked now and then; false gives it up.
    /// - Throws: `lost` if the beginning of the log was trimmed meanwhile, or if it was given up.
    /// - Returns: The revision of the last commit in it.
    package func copy(to path: String, while isWanted: () -> Bool) throws(LogFailure) -> Int {
        Rescue.remove(path)
        do throws(LogFailure) {
            try LogPlace.create(path)
            return try fill(path, while: isWanted)
        } catch {
            Rescue.remove(path)
            throw error
        }
    }

    private func fill(_ path: String, while isWanted: () -> Bool) throws(LogFailure) -> Int {
        let survey = try LogSurvey(contents)
        if let problem = survey.problems.first { throw LogFailure(.damaged, path: self.path, problem) }
        let copy = try Database(path: path, .writing)
        // Until it is complete it is worth nothing, so nothing protects it.
        try copy.execute(
            "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"
        )
        try copy.execute(Schema.create)
        try copy.execute("BEGIN")
        try Meta.set(Meta.readable(in: database) ?? [], in: copy)
        try HorizonSchema.write(try contents.horizons(), in: copy)
        for snapshot in try contents.snapshots() where isWanted() {
            try Rescue.copySnapshot(snapshot, contents, into: copy)
        }
        let first = try contents.numbers()?.lowerBound ?? 1
        try Rescue.copyGroups(from: first, contents, survey, into: copy, while: isWanted)
        if let shared = survey.copy, isWanted() {
            try Rescue.copyShared(self.path, contents, shared, into: copy)
        }
        guard isWanted() else {
            throw LogFailure(
                .lost, path: self.path, "The copy of \(self.path) was given up; make another one.")
        }
        try copy.execute("COMMIT")
        return survey.lastRevision
    }
}
