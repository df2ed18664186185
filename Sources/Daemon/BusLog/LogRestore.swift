import BusSystem
import Glibc

/// Replaces a log by a copy.
///
/// The copy is copied once more, into a file beside the log, and everything is done with that one: it gets a history of
/// its own, is checked, and only then gets the log's name. So the copy itself is never changed, at no time is there
/// less than one complete log, and the previous log is kept. Why a history of its own: clients know commits of the old
/// one that are not in the copy.
package enum LogRestore {
    package struct Outcome: Sendable {
        /// The revision of the last commit in the copy.
        package let revision: Int
        /// The new place of the previous log; nil if there was none.
        package let aside: String?
    }

    /// - Parameters:
    ///   - renews: Whether the copy may be the log itself, which then begins a new history.
    ///   - epoch: The name of the new history.
    ///   - check: Checks the file at a path, and throws unless it is whole.
    /// - Throws: `inUse` while a daemon has the log; a failure with the path of the copy when that is to blame.
    package static func restore(
        _ copy: String, to path: String, renews: Bool = false, epoch: String,
        check: (String) throws(LogFailure) -> Void
    ) throws(LogFailure) -> Outcome {
        let place = LogPlace.resolved(path)
        try LogPlace.checkKind(of: place)
        guard renews || FileIdentity(of: copy) != FileIdentity(of: place) || !LogPlace.exists(place) else {
            throw LogFailure(.notALog, path: copy, "\(copy) is the log itself; name a copy of it.")
        }
        guard LogPlace.exists(copy) else {
            throw LogFailure(.notALog, path: copy, "There is no copy at \(copy); check the path.")
        }
        return try replace(place, check: check) { (scratch) throws(LogFailure) in
            try take(copy, into: scratch, epoch)
        }
    }

    /// Makes a log of what `fill` writes into a new file, which gives its last revision: where there is none, or one in which
    /// nothing was ever committed.
    ///
    /// - Throws: `inUse` while a daemon has the log, `notALog` where something was committed.
    package static func begin(
        at path: String, fill: (LogFile) throws(LogFailure) -> Int, check: (String) throws(LogFailure) -> Void
    ) throws(LogFailure) -> Outcome {
        let place = LogPlace.resolved(path)
        try LogPlace.checkKind(of: place)
        return try replace(place, check: check) { (scratch) throws(LogFailure) in
            try requireUnused(place)
            defer { unlink(scratch + "-lock") }
            // Until it is complete it is worth nothing, so nothing waits for the disk.
            let file = try LogFile(path: scratch, sync: .never, bootID: "")
            let revision = try fill(file)
            try file.close()
            return revision
        }
    }

    private static func requireUnused(_ place: String) throws(LogFailure) {
        guard LogPlace.exists(place) else { return }
        let survey = try LogSurvey(try LogReader(standing: place).contents)
        guard survey.lastRevision == 0, survey.copy == nil else {
            throw LogFailure(
                .notALog, path: place,
                "The log \(place) has commits, through revision \(survey.lastRevision), and a history is imported only where nothing was ever committed; name another file with --log, or move this one away."
            )
        }
    }

    /// - Parameter make: Makes the file at a path, and gives the revision of its last commit.
    private static func replace(
        _ place: String, check: (String) throws(LogFailure) -> Void,
        make: (String) throws(LogFailure) -> Int
    ) throws(LogFailure) -> Outcome {
        let lock = try LogLock(beside: place)
        let scratch = place + "-restore"
        do throws(LogFailure) {
            if LogPlace.exists(place) { try lock.own(place) }
            try Rescue.finish(place)
            Rescue.remove(scratch)
            let revision = try make(scratch)
            try check(scratch)
            // The check may have left files beside it.
            for suffix in ["-wal", "-shm"] { unlink(scratch + suffix) }
            let wasThere = LogPlace.exists(place)
            try giveAway(scratch, beside: place, lock)
            let aside = try Rescue.place(scratch, at: place, as: .replaced)
            return Outcome(revision: revision, aside: wasThere ? aside : nil)
        } catch {
            Rescue.remove(scratch)
            lock.withdraw()
            throw error
        }
    }

    /// Copies what can be read, under a new name of its history. Returns the last revision.
    private static func take(_ copy: String, into scratch: String, _ epoch: String) throws(LogFailure) -> Int
    {
        let copy = LogPlace.resolved(copy)
        do throws(LogFailure) {
            // First, as a daemon may be moving it into the database.
            let tail = try TailContents(of: copy, vfs: nil)
            // Nothing is written beside a copy that stands alone, so it may be in a read-only place.
            let isAlone = WALScan(copy + "-wal").isEmpty
            let source = try Database(path: copy, isAlone ? .readingAlone : .reading)
            try Schema.check(source)
            try LogPlace.create(scratch)
            try Rescue.copyAll(source, into: scratch)
            let database = try Database(path: scratch, .writing)
            // A log of its own is no member's copy; the pages of one are free for what comes.
            try database.execute(SharedCopySchema.remove)
            var survey = try LogSurvey(LogContents(database))
            guard survey.problems.isEmpty else {
                throw LogFailure(.damaged, path: copy, survey.problems[0])
            }
            if let tail, case .lost = try tail.settle(into: database, &survey) {
                throw LogFailure(.damaged, path: copy, "its tail does not continue it")
            }
            guard try Meta.text("epoch", in: database) != nil else {
                throw LogFailure(.damaged, path: copy, "no history has begun in it")
            }
            try database.execute(
                "PRAGMA synchronous = FULL; DELETE FROM meta WHERE name NOT IN ('sync', 'boot', 'turned')")
            try Meta.set([("epoch", epoch), ("begun", epoch), ("clean", "1")], in: database)
            return survey.lastRevision
        } catch {
            switch error.kind {
            case .damaged:
                throw LogFailure(
                    .damaged, path: copy,
                    "The copy \(copy) is not whole: \(LogFailure.finding(in: error.message)); use another one."
                )
            case .notALog:
                throw LogFailure(
                    .notALog, path: copy,
                    "\(copy) is not a copy of an action log; name one that fluxbus backup has made."
                )
            default: throw error
            }
        }
    }

    /// Gives the new log to the owner of the previous one, or else to the owner of the directory, and brings it to disk.
    static func giveAway(_ scratch: String, beside place: String, _ lock: LogLock) throws(LogFailure) {
        var model = stat()
        var own = stat()
        let isThere = stat(place, &model) == 0
        if !isThere, stat(FileNames.directory(of: place), &model) != 0 {
            throw LogPlace.failure("lies in a directory that can't be read", place, errno)
        }
        let descriptor = open(scratch, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw LogPlace.failure("can't be written", place, errno) }
        defer { close(descriptor) }
        if fstat(descriptor, &own) == 0, own.st_uid != model.st_uid || own.st_gid != model.st_gid {
            // Without a log there, only root changes the owner; other users keep the file.
            let given = isThere || geteuid() == 0 ? fchown(descriptor, model.st_uid, model.st_gid) : 0
            guard given == 0 else {
                throw LogPlace.failure(
                    "can't be given to user \(model.st_uid), whose it is; do this as that user, or as root",
                    place,
                    errno)
            }
            if geteuid() == 0 { lock.give(to: model.st_uid, model.st_gid) }
        }
        guard fchmod(descriptor, isThere ? model.st_mode & 0o777 : 0o600) == 0, fsync(descriptor) == 0 else {
            throw LogPlace.failure("can't be made durable; look at its disk", place, errno)
        }
    }
}
