/// Small groups go into the tail first, and into the database many at a time: as soon as there is no room left, as somebody wants to
/// read them, or as anything else is written there.
extension LogFile {
    /// Has small groups written into a tail from now on. It pays where each group waits for the disk: with another mode than `always`,
    /// and for a member's copy, nothing changes.
    package func useTail() throws(LogFailure) {
        guard mode == .always, copy == nil, let epoch else { return }
        try usable()
        // What the tail goes on from is in the file itself, so that the two are enough without a write-ahead log.
        checkpoints.runAll()
        let tail = try LogTail(of: storage.place ?? path, vfs: storage.vfs, epoch: epoch)
        // From now on one that is missing is missed.
        try writeDurably { () throws(LogFailure) in try Meta.set([Meta.hasTail(true)], in: database) }
        self.tail = tail
    }

    /// Writes a group into the tail.
    func append(_ group: Group, to tail: LogTail) throws(LogFailure) {
        try requireFiles()
        try requireWriteAheadLog()
        try tail.append(group)
        if !tail.isInPlace { try replaceTail() }
        appended(group)
    }

    /// Whether appending a group with this many bytes of entries may take long, because other groups or pages have to be moved into
    /// the file first.
    package func isSlow(_ bytes: Int) -> Bool {
        guard let tail else { return checkpoints.isDue }
        return !tail.takes(bytes) && (tail.hasUnsettled || checkpoints.isDue)
    }

    /// Whether the database lacks groups that are in the tail.
    package var hasUnsettled: Bool { tail?.hasUnsettled ?? false }

    /// Somebody has moved, deleted or cut the tail. Nothing is lost: all that the database lacks is in memory, too.
    private func replaceTail() throws(LogFailure) {
        do throws(LogFailure) { try renewTail() } catch {
            throw lose(
                "The tail of \(path) was moved or deleted while in use, and what was in it can't be written to the log: "
                    + error.message)
        }
    }

    /// Goes on with another tail, or, if none can be made, without one.
    ///
    /// - Throws: If what is in the old one can't be brought into the database, durably.
    private func renewTail() throws(LogFailure) {
        try settleTail()
        try writeDurably { () throws(LogFailure) in try Meta.set([Meta.hasTail(false)], in: database) }
        tail?.remove()
        tail = nil
        try? useTail()
    }

    /// After a failure of the tail, and once the database can be written: what is there of a group that was refused must not come
    /// back.
    func renewFailedTail() throws(LogFailure) {
        if tail?.hasFailed == true { try renewTail() }
    }

    /// Brings into the database what is only in the tail. It needs no sync: until there is one, the tail has it too.
    ///
    /// - Throws: If that fails; the tail has it then as before.
    package func settle() throws(LogFailure) {
        if hasUnsettled { try usable() }
    }

    /// What `usable` does, once it has found that the database may be written.
    func settleTail() throws(LogFailure) {
        guard let tail, tail.hasUnsettled else { return }
        try checkpointIfDue()
        try setFull(false)
        try insert(unsettledOf: tail)
        try requireWriteAheadLog()
        wroteUnsynced()
    }

    private func insert(unsettledOf tail: LogTail) throws(LogFailure) {
        try database.transaction { () throws(LogFailure) in
            try tail.forEachUnsettled { group throws(LogFailure) in try group.insert(with: insertion) }
        }
        tail.settled()
    }
}
