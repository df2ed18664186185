import BusCommands

/// How far a connection has come, and whether it waits for its turn.
struct Turn {
    /// On the clock of its user's work.
    private(set) var share = Share(expecting: 0)
    /// It waits for its turn, with an errand of its own or in a line.
    private(set) var isQueued = false
    /// It has an errand of its own in the queue.
    private(set) var hasErrand = false
    /// It is in its user's line of connections that are behind. It may have been served otherwise since: then its entry is
    /// stale.
    private(set) var hasPlaceBehind = false
    /// Its present slice is one of that line, which is charged for it.
    private(set) var isFromBehind = false
    /// Its socket has input, to be read then.
    private(set) var awaitsInput = false
    /// It is being served in its turn.
    private(set) var isPresent = false
    /// It has not been served yet.
    private(set) var isFirst = true
    /// What its last creation or revert took. Of stores that it creates these are their expressions, with those of views where
    /// no actions came with them. The next ones may take as long.
    private(set) var workOfState = 0

    /// True if it did not wait before.
    mutating func queue() -> Bool {
        defer { isQueued = true }
        return !isQueued
    }

    /// Queues it in the line of connections that are behind. True if it has no entry there yet.
    mutating func queueBehind() -> Bool {
        defer { (isQueued, hasPlaceBehind) = (true, true) }
        return !hasPlaceBehind
    }

    /// Its entry in a line has come up. False if the entry is stale, or an errand of its own serves it.
    mutating func takePlace(behind: Bool) -> Bool {
        if behind { hasPlaceBehind = false }
        guard isQueued, !hasErrand else { return false }
        isFromBehind = behind
        return true
    }

    /// Queues an errand for this connection. `work` is its expected cost, if known.
    mutating func add(_ errand: Errand, of user: User, to queue: inout UserQueue, expecting work: Int?) {
        hasErrand = true
        queue.add(errand, of: user, &share, expecting: work)
    }

    mutating func awaitInput() { awaitsInput = true }

    /// Begins the turn; true if there is input to be read.
    mutating func begin() -> Bool {
        defer { (isQueued, hasErrand, awaitsInput, isPresent) = (false, false, false, true) }
        return awaitsInput
    }

    mutating func end() { (isPresent, isFromBehind) = (false, false) }

    /// Its first slice is done: what it took is forgotten.
    mutating func endFirst(_ work: Int) { (isFirst, share) = (false, Share(expecting: work)) }

    /// It is served without having waited.
    @inline(__always)
    mutating func serveAtOnce(of user: User) { user.errands.serveAtOnce(&share) }

    @inline(__always)
    mutating func charge(_ work: Int) { share.charge(work) }
    @inline(__always)
    mutating func owe(_ work: Int, upTo limit: Int) { share.owe(work, upTo: limit) }

    /// It has another user, with another clock.
    mutating func changeUser() { share = Share(expecting: share.expected) }

    mutating func note(state work: Int) { workOfState = work }
}
