/// The steps by which a log is opened for writing: lock, create, recover, look through, and rescue what is damaged.
struct LogOpening {
    let lock: LogLock?
    let database: Database
    let survey: LogSurvey
    /// What was found and done, in sentences for the journal.
    private(set) var notices: [String] = []
    private(set) var lostCommits = false

    init(path: String, bootID: String, vfs: String?) throws(LogFailure) {
        guard vfs == nil else {
            lock = nil
            database = try Self.open(path, vfs: vfs)
            survey = try LogSurvey(LogContents(database))
            if let problem = survey.problems.first { throw LogFailure(.damaged, path: path, problem) }
            return
        }
        let place = LogPlace.resolved(path)
        lock = try LogLock(beside: place)
        try Rescue.finish(place)
        try LogPlace.create(place)
        let damagedDatabase = try Self.open(place, vfs: nil)
        let damagedSurvey: LogSurvey
        do { damagedSurvey = try LogSurvey(LogContents(damagedDatabase)) } catch {
            guard error.kind == .damaged else { throw error }
            throw LogFailure(
                .damaged, path: path,
                "\(error.message.prefix { $0 != ";" }); move it away, or save what is readable with `sqlite3 \(place) .recover`."
            )
        }
        database = damagedDatabase
        survey = damagedSurvey
    }

    private static func open(_ path: String, vfs: String?) throws(LogFailure) -> Database {
        let database = try Database(path: path, .creating, vfs: vfs)
        try database.execute("PRAGMA page_size = 4096")
        // Nobody else's bytes are in it, so what is deleted need not be overwritten; and a transaction is in memory
        // until it is committed.
        try database.execute(
            "PRAGMA secure_delete = OFF; PRAGMA cache_spill = OFF; PRAGMA cache_size = -8192")
        let isAbsent = try Schema.isAbsent(in: database)
        if !isAbsent { try Schema.check(database) }
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw LogFailure(
                .io, path: path, "The log \(path) can't be written ahead; put it on a local disk.")
        }
        if isAbsent {
            try database.execute("PRAGMA synchronous = FULL")
            try database.execute(Schema.create)
        }
        try database.execute(
            "DELETE FROM snapshot_parts WHERE revision NOT IN (SELECT revision FROM snapshots)")
        return database
    }
}
