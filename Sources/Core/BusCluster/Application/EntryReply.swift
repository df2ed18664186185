import BusProtocol

/// What an entry came to, wherever it was applied.
package struct EntryReply: Equatable, Sendable {
    /// Of the commit; of what is no commit, the revision behind which it took effect.
    package var revision: Int
    package var matched = 0
    package var changed = 0
    /// Both counts for the stores that the caller sees; nil: all stores, or no longer known.
    package var seen: Seen?
    /// Of a create: whether the store is new.
    package var created = false
    /// It repeats an earlier request, whose reply this is.
    package var isDuplicate = false
    /// Of a dispatch that comes later: its timer, and when that is due.
    package var timer: String?
    package var due: Int?
    /// Of a session that was named: whether there was something left in it.
    package var isResumed = false

    package init(revision: Int) { self.revision = revision }

    package struct Seen: Equatable, Sendable {
        package let matched: Int
        package let changed: Int

        package init(matched: Int, changed: Int) {
            self.matched = matched
            self.changed = changed
        }
    }
}

/// The outcome of an entry: the same on every member.
package enum EntryOutcome: Sendable {
    case done(EntryReply)
    case refused(RequestError)
}
