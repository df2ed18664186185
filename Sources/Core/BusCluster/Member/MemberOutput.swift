import BusCommands
import BusProtocol

/// What a member wants to have done by its owner, in this order.
package enum MemberOutput: Sendable {
    // MARK: - Of the shared log; see `OrderedLog`

    case read(behind: Int, of: String?)
    case join(report: [UInt8])
    case propose(ProposalName, [UInt8])
    case barrier(Int)
    case report([UInt8])
    case leave
    case end(String, incarnation: Int)
    case trim(through: Int)

    // MARK: - Of the local copy

    /// The entry has been applied. What came of it is to be made durable together with the replica's place, and
    /// `ClusterMember.stored` called then.
    case applied(OrderedEntry, AppliedEntry)
    /// The member's incarnation, to be made durable before anything is proposed under it: by it a member that was killed
    /// knows its own earlier run.
    case remember(incarnation: Int)
    /// Evidence of entries that it has seen and that the log has lost, to be made durable before anything that follows.
    case rememberProof(Evidence?)
    /// The replica can't go on from where it is. Another one is needed; `ClusterMember.begin` takes it.
    case needsReplica(ReplicaLack)

    // MARK: - For clients

    /// The outcome of the entry with this ticket, which is durable, and the operations that the entry took.
    case answered(Int, CommandOutcome, spent: Int)
    /// The entry with this ticket was not heard of in time.
    case failed(Int, MemberFailure)
    /// Every entry that anybody was told the outcome of before `sync` is applied here.
    case synced(Int, revision: Int)

    // MARK: - For operators

    case notice(MemberNotice)
    /// The member does not go on; nothing comes after it.
    case stopped(MemberStop)
}

/// Why an entry has no outcome.
package struct MemberFailure: Equatable, Sendable {
    package enum Outcome: String, Sendable {
        /// It was never proposed, or can't count any more: it is in no history.
        case none
        /// It was proposed, and may yet be committed, or may be committed already.
        case unknown
    }

    package let outcome: Outcome
    /// One sentence.
    package let message: String

    package init(_ outcome: Outcome, _ message: String) {
        self.outcome = outcome
        self.message = message
    }
}

/// What an operator wants to know.
package enum MemberNotice: Equatable, Sendable {
    case attached
    case detached(String)
    case joined(incarnation: Int)
    /// Its lease has ended; it joins again.
    case ended(incarnation: Int)
    case nameTaken
    /// The log is another one than was read before, or lacks what was read: from here on it is another history.
    case logLost(behind: Int)
    case epoch(String, revision: Int)
    case clockAhead(String, milliseconds: Int)
    /// Another member has made something else of the same entries.
    case differs(String, place: Int)
}

/// Why a member does not go on.
package enum MemberStop: Equatable, Sendable {
    /// Most other members have made something else of the same entries (`isOdd`), or as many as not.
    case diverged(place: Int, isOdd: Bool)
    case newerRules(ReplicaStop)

    package var message: String {
        switch self {
        case .diverged(let place, true):
            "This member has made something else of the log's entries before place \(place) than the others; it takes a snapshot from one of them when it is started again."
        case .diverged(let place, false):
            "The members have made different things of the log's entries before place \(place), and none has a majority; compare their versions, and keep one of the copies."
        case .newerRules(let stop): stop.message
        }
    }
}

/// Which replica a member needs: a snapshot of another member, or an earlier one of its own.
package struct ReplicaLack: Equatable, Sendable {
    /// The replica has to stand at this place or behind it.
    package let least: Int
    /// The last place at which one of the member's own copies is still usable; nil if none is.
    package let most: Int?
    /// The member should prefer an own copy at or before this place, because the log probably still has what follows it.
    package let wanted: Int?

    package init(least: Int, most: Int?, wanted: Int? = nil) {
        self.least = least
        self.most = most
        self.wanted = wanted ?? most
    }
}
