/// What commits are made in is kept for the next one; what only a large one needed is given back when no such comes any more.
extension Engine {
    /// A large commit has been made: the next one may be as large.
    func noteLargeCommit() { relaxDeadline = now + Limits.largeStorageKept }

    /// Gives back what large commits took, once the time has come.
    func relaxIfDue() {
        guard let deadline = relaxDeadline, deadline <= now else { return }
        relaxDeadline = nil
        touches.relax()
        furtherRecords.relax()
        journal.relax()
        entries.relax()
        restricted.relax()
        for content in publication.contents.elements { content.relax() }
    }
}
