/// A member's entries on their way into the log: those that wait, and the one proposal that was sent.
struct ProposalQueue {
    struct Waiting {
        /// Nil once whoever asked has been told that it takes too long.
        var ticket: Int?
        let entry: ClusterEntry
        let since: Int
    }

    struct Sent {
        let name: ProposalName
        let content: [UInt8]
        var entries: [Waiting]
        /// It shows what a lost log had.
        let isProof: Bool
        /// When it was sent first.
        let since: Int
        /// When it was sent last; nil while it is to be sent again.
        var sentAt: Int?
        /// Whether its call has been answered.
        var isAnswered = false
        /// Whether an earlier call may have brought it into the log.
        var mayBeThere = false
        /// Where it is in the log, if that is known.
        var place: Int?
    }

    var waiting: [Waiting] = []
    var waitingBytes = 0
    var sent: Sent?
    /// Entries of the next proposal: as many as were carried out of the one before, where not all of them were.
    private var most = ClusterLimits.entries

    mutating func add(_ entry: ClusterEntry, _ ticket: Int, _ now: Int) {
        waiting.append(Waiting(ticket: ticket, entry: entry, since: now))
        waitingBytes += entry.size
    }

    /// The entries of the next proposal, as many as fit and will probably be carried out.
    mutating func take() -> [Waiting] {
        var (count, bytes) = (0, ClusterEntry.overhead)
        for next in waiting.prefix(most) {
            bytes += next.entry.size
            if bytes > ClusterLimits.proposal { break }
            count += 1
        }
        let taken = Array(waiting[..<count])
        waiting.removeFirst(count)
        waitingBytes -= taken.reduce(0) { $0 + $1.entry.size }
        return taken
    }

    /// What was sent can't come into any history: it waits again, before all others.
    mutating func takeBack(behindOthers: Bool = false) {
        guard let back = sent?.entries else { return }
        sent = nil
        putBack(back[...], behindOthers: behindOthers)
    }

    /// So many entries of a proposal were carried out; the others wait again.
    mutating func noteCarriedOut(_ count: Int, of entries: [Waiting]) {
        if count == entries.count { return most = min(ClusterLimits.entries, 2 * most) }
        most = max(1, count)
        putBack(entries[count...])
    }

    private mutating func putBack(_ back: ArraySlice<Waiting>, behindOthers: Bool = false) {
        // Nobody waits for the others.
        let wanted = back.filter { $0.ticket != nil }
        waiting.insert(contentsOf: wanted, at: behindOthers ? waiting.count : 0)
        waitingBytes += wanted.reduce(0) { $0 + $1.entry.size }
    }

    /// The tickets of entries that were sent too long ago, or wait for too long; those that wait go.
    mutating func takeLate(at now: Int) -> (none: [Int], unknown: [Int]) {
        var late: (none: [Int], unknown: [Int]) = ([], [])
        func isLate(_ entry: Waiting) -> Bool {
            entry.ticket != nil && now - entry.since >= ClusterLimits.propose
        }
        late.none = waiting.filter(isLate).compactMap(\.ticket)
        if !late.none.isEmpty {
            waiting.removeAll(where: isLate)
            waitingBytes = waiting.reduce(0) { $0 + $1.entry.size }
        }
        for index in sent?.entries.indices ?? 0..<0 where isLate(sent!.entries[index]) {
            late.unknown.append(sent!.entries[index].ticket!)
            sent!.entries[index].ticket = nil
        }
        return late
    }

    /// Takes everything, with what is known of it.
    mutating func takeAll() -> (none: [Int], unknown: [Int]) {
        defer { (waiting, waitingBytes, sent) = ([], 0, nil) }
        return (waiting.compactMap(\.ticket), sent?.entries.compactMap(\.ticket) ?? [])
    }
}
