/// What a transaction that failed means for those before it and behind it.
extension LogFile {
    /// Prevents a failed transaction from coming back: when only its sync failed, its pages are complete behind the
    /// last good ones, and the next process would take them for committed. Another small transaction overwrites them.
    /// It also notes for the next start that damage was met, so that it checks more thoroughly. Returns what the failure means.
    func overwriteFailed(_ failure: LogFailure) -> LogFailure {
        let meaning = meant(by: failure)
        if end == nil {
            try? Meta.set(
                [(failure.kind == .damaged ? "suspect" : "failed append", "\(number + 1)")], in: database)
        }
        return meaning
    }

    /// A failed sync may have lost more than its own transaction: everything written since the last sync that succeeded. No
    /// later sync would report that, so the file refuses everything from then on.
    func meant(by failure: LogFailure) -> LogFailure {
        guard failure.isOfSync, transactions.synced != transactions.written else { return failure }
        return loseSync(failure.message, failure.kind)
    }

    /// Moves pages into the file, if that is due.
    func checkpointIfDue() throws(LogFailure) {
        do throws(LogFailure) {
            try checkpoints.runIfDue(hasUnsynced: transactions.synced != transactions.written)
        } catch {
            throw meant(by: error)
        }
    }
}
