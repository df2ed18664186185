import Glibc

/// The steps by which a log is opened for writing: lock, create, recover, check, and rescue what is damaged.
struct LogOpening {
    let lock: LogLock?
    let database: Database
    let survey: LogSurvey
    /// What was found and done, in sentences for the journal.
    let notices: [String]
    /// Whether damage cost commits that had been appended.
    let lostCommits: Bool

    /// The file, without symbolic links; nil in another storage.
    let place: String?

    /// - Parameter compacts: Writes the file anew, however large it is.
    init(path: String, bootID: String, vfs: String?, compacts: Bool = false) throws(LogFailure) {
        guard vfs == nil else {
            (lock, place) = (nil, nil)
            database = try Self.open(path, vfs: vfs)
            var survey = try LogSurvey(LogContents(database))
            if let problem = survey.problems.first { throw LogFailure(.damaged, path: path, problem) }
            var findings = Findings(path: path, note: nil)
            try findings.settleTail(into: database, &survey, vfs: vfs)
            self.survey = survey
            (notices, lostCommits) = (findings.notices, findings.lostCommits)
            return
        }
        let place = LogPlace.resolved(path)
        try LogPlace.checkKind(of: place)
        let lock = try LogLock(beside: place)
        var findings = Findings(path: place, note: lock.note)
        do throws(LogFailure) {
            (database, survey) = try Self.open(place, path, lock, bootID, compacts, &findings)
        } catch {
            lock.withdraw()
            throw error
        }
        self.lock = lock
        self.place = place
        (notices, lostCommits) = (findings.notices, findings.lostCommits)
    }

    private static func open(
        _ place: String, _ path: String, _ lock: LogLock, _ bootID: String, _ compacts: Bool,
        _ findings: inout Findings
    ) throws(LogFailure) -> (Database, LogSurvey) {
        if LogPlace.exists(place) { try lock.own(place) }
        try Rescue.finish(place)
        try findings.checkSize()
        try LogPlace.create(place)
        try lock.own(place)
        do throws(LogFailure) {
            rollBackJournal(place)
            try findings.checkWriteAheadLog(bootID)
            try findings.checkTables(lock, isThorough: compacts)
            if compacts { try Compaction.compact(place, lock) } else { Compaction.convert(place, lock) }
            // Another file may be there now.
            try lock.own(place)
            let database = try Self.open(place, vfs: nil)
            // It need not be read twice, as long as it is the same file.
            var survey: LogSurvey
            if let known = findings.survey {
                survey = known
            } else {
                survey = try LogSurvey(LogContents(database))
            }
            if let problem = survey.problems.first { throw LogFailure(.damaged, path: path, problem) }
            try findings.settleTail(into: database, &survey, vfs: nil)
            try findings.checkEnd(survey, in: database)
            return (database, survey)
        } catch {
            guard let finding = findings.damage(in: error) else { throw error }
            throw LogFailure(
                .damaged, path: path,
                "\(finding); restore a backup with fluxbusd --restore, or move the log and the files beside it away to begin a new one."
            )
        }
    }

    /// Rolls back a change of the file's form that a crash has cut short: a connection that only reads can't.
    private static func rollBackJournal(_ path: String) {
        guard LogPlace.exists(path + "-journal") else { return }
        // If this fails, the checks that follow fail too, and say why.
        _ = try? Database(path: path, .writing).integer("PRAGMA schema_version")
    }

    private static func open(_ path: String, vfs: String?) throws(LogFailure) -> Database {
        let database = try Database(path: path, .creating, vfs: vfs)
        try database.execute("PRAGMA page_size = 4096")
        let isAbsent = try Schema.isAbsent(in: database)
        if isAbsent { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
        // It holds no other program's bytes, so deleted ones need not be overwritten; and a transaction is in
        // memory until it is committed.
        try database.execute(
            "PRAGMA secure_delete = OFF; PRAGMA cache_spill = OFF; PRAGMA cache_size = -8192")
        if !isAbsent { try Schema.check(database) }
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw LogFailure(
                .io, path: path, "The log \(path) can't have a write-ahead log; put it on a local disk.")
        }
        if isAbsent {
            try database.execute("PRAGMA synchronous = FULL")
            try database.execute(Schema.create)
            // The journal with which the file's first page was written must not come back: it would empty the file.
            if vfs == nil { try LogPlace.syncDirectory(of: path) }
        }
        try database.execute(
            "DELETE FROM snapshot_parts WHERE revision NOT IN (SELECT revision FROM snapshots)")
        return database
    }

    /// The findings about a file before it is opened for writing, and what was done about them.
    private struct Findings {
        let path: String
        /// How far the history had come, as its previous owner recorded it.
        let note: LogNote?
        var notices: [String] = []
        var lostCommits = false
        /// Checked before the file is opened, which may create one.
        private var isWriteAheadLogAbsent = false
        /// Its contents, once they have been found whole.
        var survey: LogSurvey?
        /// What a rescue lost at the end, unless the tail has it.
        private var missing: MissingEnd?

        init(path: String, note: LogNote?) {
            self.path = path
            self.note = note
        }

        /// An empty file begins a new log, unless there was one.
        func checkSize() throws(LogFailure) {
            guard let note, FileIdentity.look(at: path)?.size == 0 else { return }
            throw LogFailure(
                .damaged, path: path,
                "The log \(path) is empty, but revision \(note.revision) had been reached; restore a backup with fluxbusd --restore, or remove the file to begin a new log."
            )
        }

        /// What a failure says of damage, without advice; nil if it is about something else. Where there was a log, a file that is
        /// no longer a database is a damaged log, and not another program's file.
        func damage(in failure: LogFailure) -> String? {
            if failure.kind == .damaged { return LogFailure.finding(in: failure.message) }
            guard let note, failure.kind == .notALog,
                (try? Database(path: path, .reading).integer("PRAGMA application_id")) == nil
            else { return nil }
            return "The log \(path) is no action log any more, but revision \(note.revision) had been reached"
        }

        /// Decides whether the write-ahead log can be trusted, and moves it away when the file is better without it: a
        /// part of it that was already in the file, written again, would revert the file.
        mutating func checkWriteAheadLog(_ bootID: String) throws(LogFailure) {
            let scan = WALScan(path + "-wal")
            if scan.isEmpty { isWriteAheadLogAbsent = true }
            guard scan.isHeaderBroken || scan.commitsBehindBreak > 0 else { return }
            let with = Self.survey(path, isImmutable: false)
            // A torn end is what was being written when the daemon was killed, over frames of an earlier generation:
            // everything that clients were notified of is there.
            if let with, let note, note.epoch == with.epoch, with.reach >= note.revision { return }
            let boot = with?.boot
            // Only the last transaction may have been torn when the machine went down; no
            // client was notified of it then.
            guard scan.isHeaderBroken || scan.commitsBehindBreak > 1 || boot == nil || boot == bootID else {
                return
            }
            lostCommits = true
            let without = Self.survey(path, isImmutable: true)
            if let without, without.revision > with?.revision ?? -1 {
                let aside = try Rescue.moveWriteAheadLogAside(path)
                notices.append(
                    "The write-ahead log of \(path) was damaged and is kept as \(aside); what was only in it is lost."
                )
            } else {
                notices.append("The write-ahead log of \(path) was damaged; commits at its end are lost.")
            }
        }

        /// Brings the groups that are only in the tail into the database, and removes the tail.
        mutating func settleTail(
            into database: Database, _ survey: inout LogSurvey, vfs: String?
        ) throws(LogFailure) {
            guard let tail = try TailContents(of: path, vfs: vfs) else {
                guard try Meta.hasTail(in: database) else { return }
                return tellLoss(
                    "The log \(path) was in use when its daemon ended, and the tail that belongs to it is missing; what was "
                        + "only in that is lost.")
            }
            switch try tail.settle(into: database, &survey) {
            case .settled:
                try takeBack(survey, database)
                // Before it is removed, so that it is not missed.
                try Meta.set([Meta.hasTail(false)], in: database)
                BesideFile.remove(LogTail.path(of: path), vfs: vfs)
            case .lost:
                tellLoss(
                    "The tail of \(path) does not continue it: commits between them are lost.\(try setTailAside(vfs))"
                )
            case .foreign:
                notices.append("The tail of \(path) belongs to another history.\(try setTailAside(vfs))")
            }
        }

        /// Says again what a rescue has lost, now that the tail is taken in: less, or nothing.
        private mutating func takeBack(_ survey: LogSurvey, _ database: Database) throws(LogFailure) {
            guard let missing else { return }
            let isBack = missing.newest.map { survey.number >= $0 } ?? false
            notices[missing.notice] = missing.sentence(isBack ? nil : survey.lastRevision)
            guard isBack else { return }
            lostCommits = missing.lostBefore
            try Meta.set([("failed", "")] + missing.state, in: database)
        }

        /// Moves the tail away, and says in a sentence where it lies.
        private func setTailAside(_ vfs: String?) throws(LogFailure) -> String {
            guard vfs == nil else {
                BesideFile.remove(LogTail.path(of: path), vfs: vfs)
                return ""
            }
            return " It is kept as \(try Rescue.moveTailAside(path))."
        }

        /// Compares what is there with what is known to have been there: a write-ahead log may be missing, or end too
        /// early, and be whole as far as it goes.
        mutating func checkEnd(_ survey: LogSurvey, in database: Database) throws(LogFailure) {
            let epoch = try Meta.text("epoch", in: database)
            if let note, note.epoch == epoch {
                if survey.lastRevision >= note.revision { return }
                return tellLoss(note.loss(of: path, endingWith: survey.lastRevision))
            }
            guard isWriteAheadLogAbsent else { return }
            if try Meta.isInUse(in: database) {
                tellLoss(
                    "The log \(path) was in use when its daemon ended, and the write-ahead log that belongs to it is "
                        + "missing; what was only in that is lost.")
            }
        }

        private mutating func tellLoss(_ sentence: String) {
            if !lostCommits { notices.append(sentence) }
            lostCommits = true
        }

        /// Replaces the file when it has damage in something that is needed, now or by the next append.
        ///
        /// - Parameter isThorough: Whether it is replaced also when anything else is damaged.
        mutating func checkTables(_ lock: LogLock, isThorough: Bool) throws(LogFailure) {
            let copy: (place: String, survey: LogSurvey)
            let survey: LogSurvey
            let newest: Int?
            let state: [(String, String)]
            var problems: [String] = []
            do {
                // Closed before the file is moved.
                let database = try Database(path: path, .reading)
                if (try? Schema.isAbsent(in: database)) == true { return }
                if let problem = try Schema.checkToRescue(database) { problems.append(problem) }
                let contents = try LogContents(database)
                survey = try LogSurvey(contents)
                problems += survey.problems
                if isThorough, problems.isEmpty, let problem = try Self.problem(database, contents) {
                    problems.append(problem)
                }
                let meta = Meta.readable(in: database)
                let isSuspect = meta?.contains { $0.0 == "suspect" } ?? true
                guard !problems.isEmpty || isSuspect else {
                    self.survey = survey
                    return
                }
                var kept = (meta ?? []).filter { $0.0 != "suspect" }
                // For the next start, in case this one does not get as far as a new history.
                if survey.lostCommits, !kept.isEmpty { kept += Meta.lostCommits }
                copy = try Rescue.copy(path, contents, survey, kept)
                if meta == nil { lostCommits = true }
                newest = (try? contents.numbers())?.upperBound
                state = (meta ?? []).filter { ["clean", "failed"].contains($0.0) }
            }
            // It stays its owner's file when root compacts it.
            if geteuid() == 0 { try LogRestore.giveAway(copy.place, beside: path, lock) }
            let aside = try Rescue.place(copy.place, at: path)
            let sentence = { [path] (end: Int?) in
                let loss = Self.loss(copy.survey, of: survey, after: end)
                return "The log \(path) was damaged; \(loss), and the damaged file is kept as \(aside)."
            }
            if survey.lostCommits || copy.survey.lastRevision < survey.lastRevision {
                missing = MissingEnd(
                    newest: newest, state: state, lostBefore: lostCommits, notice: notices.count,
                    sentence: sentence)
                lostCommits = true
            }
            notices.append(sentence(missing == nil ? nil : copy.survey.lastRevision))
            notices += problems.map { LogFailure.finding(in: $0) + "." }
            if survey.copy?.isUsable == false { notices.append(Rescue.discarded(path)) }
        }

        /// The first damage anywhere, in words.
        private static func problem(
            _ database: Database, _ contents: LogContents
        ) throws(LogFailure) -> String? {
            do throws(LogFailure) {
                try contents.readThrough()
                // What holds no rows: the index, free pages and what leads to them.
                if try database.text("PRAGMA quick_check(1)") == "ok" { return nil }
                throw database.damaged("its pages are not as they were written")
            } catch {
                guard error.kind == .damaged else { throw error }
                return error.message
            }
        }

        /// What a copy lacks of the file that it was made from.
        ///
        /// - Parameter end: The revision after which commits are lost; nil if none are.
        private static func loss(_ copy: LogSurvey, of survey: LogSurvey, after end: Int?) -> String {
            // A bus gives nothing from before its oldest snapshot, even if the commits are there.
            let oldest = copy.oldestSnapshot
            let lacksBeginning =
                oldest > survey.oldestSnapshot
                || copy.oldestRevision > (survey.hidesOldest ? 0 : survey.oldestRevision)
            return switch (lacksBeginning, end) {
            case (false, nil): "no commit is lost"
            case (false, let end?): "commits after revision \(end) are lost"
            case (true, nil):
                "the history through revision \(oldest) is lost, but no later commit (states before it can't be read any more)"
            case (true, let end?):
                "the history through revision \(oldest) and commits after revision \(end) are lost"
            }
        }

        /// What a file records about itself, with its write-ahead log or without it, and how far the history comes with its tail; nil
        /// if that can't be read whole.
        private static func survey(
            _ path: String, isImmutable: Bool
        ) -> (revision: Int, reach: Int, epoch: String?, boot: String?)? {
            guard let database = try? Database(path: path, isImmutable ? .readingAlone : .reading),
                let contents = try? LogContents(database), let survey = try? LogSurvey(contents),
                survey.problems.isEmpty
            else { return nil }
            let tail = try? TailContents(of: path, vfs: nil)
            return (
                survey.lastRevision, tail?.reach(of: survey) ?? survey.lastRevision,
                try? Meta.text("epoch", in: database), try? Meta.text("boot", in: database)
            )
        }
    }
}

/// What a rescue lost of the end of a damaged file. The tail may have all of it.
private struct MissingEnd {
    /// The number of the file's newest group; nil if that can't be read.
    let newest: Int?
    /// How the file's last run ended, as it is recorded there.
    let state: [(String, String)]
    /// Whether other commits were lost already.
    let lostBefore: Bool
    /// The place of the sentence among the notices.
    let notice: Int
    /// What to say if commits after a revision are lost; nil: none are.
    let sentence: (Int?) -> String
}

/// How far a history had come, as its owner recorded it beside the log: a second witness, with which the next start
/// compares what it finds. A log that ends before it has lost commits that clients know of, whatever removed them.
///
/// It is never ahead of the log, since it is written after the commit, and may be behind it, since it is not synced:
/// the kernel keeps it when the daemon is killed, and that is when it is needed.
struct LogNote: Equatable {
    let epoch: String
    let revision: Int

    init(epoch: String, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    /// Parses the line `EPOCH REVISION`; nil if it is anything else.
    init?(line: Substring) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, !words[0].isEmpty, let revision = Int(words[1]), revision >= 0 else {
            return nil
        }
        self.init(epoch: String(words[0]), revision: revision)
    }

    var line: String { "\(epoch) \(revision)" }

    /// What to say of a log that ends before it.
    func loss(of path: String, endingWith last: Int) -> String {
        "The log \(path) ends with revision \(last), but revision \(revision) had been reached: its tail or its write-ahead log was taken away, cut or damaged, or an older file put in its place."
    }
}
