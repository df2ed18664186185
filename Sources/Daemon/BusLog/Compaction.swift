import CSQLite
import Glibc

/// Rewrites a log in as little room as it needs, while no daemon has it. The new file is complete and on disk before it takes
/// the old one's place, under the same name of the history: nothing that clients know of is lost.
///
/// It is also how a file of an earlier version becomes one that can give free pages back: SQLite notes then where each page is
/// referred to, which it can't begin to do in a file that has tables.
enum Compaction {
    /// What is in use of an old file that a start rewrites by itself: half a second of work, and some seconds on a slow card.
    private static let smallEnough = 64 << 20

    /// Rewrites a file that can't shrink, if that is done soon. Whatever keeps it from that, the next start tries again.
    static func convert(_ place: String, _ lock: LogLock) {
        // What a crash may have left.
        Rescue.remove(scratch(of: place))
        Rescue.remove(LogCopy.scratch(of: place))
        if isOld(place) { try? compact(place, lock) }
    }

    private static func isOld(_ place: String) -> Bool {
        guard let database = try? Database(path: place, .reading), (try? Schema.check(database)) != nil,
            (try? database.integer("PRAGMA auto_vacuum")) == 0, let room = try? FileRoom(database)
        else { return false }
        return room.used <= smallEnough
    }

    private static func scratch(of place: String) -> String { place + "-compact" }

    static func compact(_ place: String, _ lock: LogLock) throws(LogFailure) {
        let scratch = scratch(of: place)
        Rescue.remove(scratch)
        do throws(LogFailure) {
            try LogPlace.create(scratch)
            // Closed before the file is replaced.
            let database = try Database(path: place, .writing)
            try Schema.check(database)
            try Rescue.copyAll(database, into: scratch)
            try LogRestore.giveAway(scratch, beside: place, lock)
            // Moves everything into the old file and removes its write-ahead log, which must not meet the new one. It fails
            // while another program has the file open, which would remove the new one's.
            guard try database.text("PRAGMA journal_mode = DELETE") == "delete" else {
                throw database.failure(SQLITE_BUSY)
            }
        } catch {
            Rescue.remove(scratch)
            throw error
        }
        try LogPlace.move(scratch, to: place)
        try LogPlace.syncDirectory(of: place)
    }
}

extension LogFile {
    /// Rewrites a log while no daemon has it. A damaged one is rescued first, as by a start, even if the damage is where no start
    /// looks.
    ///
    /// - Throws: `inUse` while a daemon or another program has it.
    /// - Returns: The size of the file before and after, and what was found, in sentences.
    package static func compact(
        _ path: String, bootID: String
    ) throws(LogFailure) -> (before: Int, after: Int, notices: [String]) {
        try LogPlace.checkPresence(of: path)
        let before = FileIdentity.look(at: path)?.size ?? 0
        let opening = try LogOpening(path: path, bootID: bootID, vfs: nil, compacts: true)
        // This tells the next start that no files beside the log are missing.
        if !opening.lostCommits || opening.survey.copy == nil {
            try Meta.set(
                (opening.lostCommits ? Meta.lostCommits : []) + [("begun", "")], in: opening.database)
        }
        return (before, FileIdentity.look(at: path)?.size ?? 0, opening.notices)
    }
}
