import BusCommands
import BusMachine

/// A member's entries on their way into the log: those that wait, and the one proposal that was sent.
///
/// Users take turns, and then the sessions of each, by what their entries have cost the members so far (`FairQueue`). The
/// entries of one session keep their order.
struct ProposalQueue {
    /// Users, or sessions of one user, that take turns.
    class Lane {
        fileprivate(set) var share: Share
        /// Where it was on the clock when it began to wait for its turn; nil: it does not wait.
        fileprivate var queuedAt: Int?

        init(expecting operations: Int) { share = Share(expecting: operations) }
    }

    final class User: Lane {
        fileprivate var sessions = Turns<Session>()
        fileprivate(set) var bytes = 0

        init() { super.init(expecting: ClusterLimits.operationsOfNewcomer) }
    }

    final class Session: Lane {
        fileprivate let user: User
        fileprivate var entries: ArraySlice<Waiting> = []

        init(of user: User) {
            self.user = user
            super.init(expecting: user.share.expected)
        }
    }

    struct Waiting {
        /// Nil once whoever asked has been told that it takes too long.
        var ticket: Int?
        let entry: ClusterEntry
        let since: Int
        /// Nil for what the member itself proposes.
        let session: Session?
        /// The operations that its session was charged when it was taken.
        fileprivate var charged = 0

        init(ticket: Int?, entry: ClusterEntry, since: Int, of session: Session? = nil) {
            (self.ticket, self.entry, self.since, self.session) = (ticket, entry, since, session)
        }
    }

    struct Sent {
        let name: ProposalName
        let content: [UInt8]
        var entries: [Waiting]
        /// It shows what a lost log had.
        let isProof: Bool
        /// When it was sent first.
        let since: Int
        /// When it was sent last; nil while it is to be sent again, which is not before another time.
        var sentAt: Int?
        var notBefore = Int.min
        /// Whether its call has been answered.
        var isAnswered = false
        /// Where it is in the log, if that is known.
        var place: Int?
    }

    var sent: Sent?
    private var users = Turns<User>()
    private var knownUsers: [Int: User] = [:]
    private var knownSessions: [Int: Session] = [:]
    private var count = 0
    private var bytes = 0
    /// The most entries that the next proposal may have. A proposal that was cut short sets it to the number of its entries that were
    /// applied; each proposal that was applied as a whole doubles it.
    private var most = ClusterLimits.entries

    /// Whether no entry waits to be proposed.
    var isEmpty: Bool { count == 0 }

    /// Whether what waits fills a proposal.
    var fillsProposal: Bool { count >= most || bytes >= ClusterLimits.proposal }

    // MARK: - Entries that wait

    /// Whether there is room for an entry: a user may have half of what the others leave.
    func hasRoom(for entry: ClusterEntry, of user: Int) -> Bool {
        let own = knownUsers[user]?.bytes ?? 0
        return own + entry.size <= BusLimits.share(of: ClusterLimits.waiting, taken: bytes, own: own)
    }

    mutating func add(_ entry: ClusterEntry, _ ticket: Int, of user: Int, _ now: Int) {
        let session = session(entry.session, of: user)
        append(Waiting(ticket: ticket, entry: entry, since: now, of: session), to: session)
    }

    private mutating func session(_ number: Int, of user: Int) -> Session {
        if let known = knownSessions[number] { return known }
        if knownSessions.count >= ClusterLimits.idleSessions { forgetIdle() }
        let owner = knownUsers[user] ?? User()
        let session = Session(of: owner)
        (knownUsers[user], knownSessions[number]) = (owner, session)
        return session
    }

    /// Forgets sessions that have nothing on its way, and users without any others.
    private mutating func forgetIdle() {
        let busy = Set(sent?.entries.map(\.entry.session) ?? [])
        knownSessions = knownSessions.filter { !$0.value.entries.isEmpty || busy.contains($0.key) }
        let users = Set(knownSessions.values.map { ObjectIdentifier($0.user) })
        knownUsers = knownUsers.filter { users.contains(ObjectIdentifier($0.value)) }
    }

    private mutating func append(_ waiting: Waiting, to session: Session, inFront: Bool = false) {
        session.entries.insert(waiting, at: inFront ? session.entries.startIndex : session.entries.endIndex)
        session.user.bytes += waiting.entry.size
        bytes += waiting.entry.size
        count += 1
        enqueue(session)
    }

    private mutating func enqueue(_ session: Session) {
        if !session.entries.isEmpty { session.user.sessions.add(session) }
        if !session.user.sessions.isEmpty { users.add(session.user) }
    }

    /// Takes the entry whose turn it is.
    private mutating func takeFirst() -> Waiting? {
        while let user = users.takeFirst() {
            guard let session = user.sessions.takeFirst() else { continue }
            defer { enqueue(session) }
            guard var first = session.entries.popFirst() else { continue }
            user.bytes -= first.entry.size
            bytes -= first.entry.size
            count -= 1
            first.charged = session.share.expected
            session.share.advance(by: first.charged)
            user.share.advance(by: first.charged)
            return first
        }
        return nil
    }

    // MARK: - The next proposal

    /// Takes entries for the next proposal, until it is full.
    mutating func take() -> [Waiting] {
        var taken: [Waiting] = []
        var size = ClusterEntry.overhead
        while taken.count < most, let next = takeFirst() {
            size += next.entry.size
            guard size <= ClusterLimits.proposal else {
                putBack([next])
                break
            }
            taken.append(next)
        }
        return taken
    }

    /// What was sent can't come into any history: it waits again. In front, unless the order is not to be kept.
    mutating func takeBack(behindOthers: Bool = false) {
        guard let back = sent?.entries else { return }
        sent = nil
        putBack(back[...], behindOthers: behindOthers)
    }

    /// Charges users and sessions for the entries of a proposal that were applied, and queues the others again.
    ///
    /// - Parameter spent: The operations that each applied entry took. The applied entries are the first ones of the proposal.
    mutating func noteCarriedOut(_ spent: some Collection<Int>, of entries: [Waiting]) {
        for (entry, operations) in zip(entries, spent) {
            guard let session = entry.session else { continue }
            for lane in [session, session.user] as [Lane] {
                lane.share.advance(by: -entry.charged)
                lane.share.charge(operations)
            }
        }
        if spent.count == entries.count { return most = min(ClusterLimits.entries, 2 * most) }
        most = max(1, spent.count)
        putBack(entries[spent.count...])
    }

    private mutating func putBack(_ back: ArraySlice<Waiting>, behindOthers: Bool = false) {
        for entry in behindOthers ? Array(back) : back.reversed() {
            guard let session = entry.session else { continue }
            session.share.advance(by: -entry.charged)
            session.user.share.advance(by: -entry.charged)
            // Nobody waits for the others.
            if entry.ticket != nil { append(entry, to: session, inFront: !behindOthers) }
        }
    }

    // MARK: - The end of waiting

    /// The tickets of entries that were sent too long ago, or wait for too long; those that wait go.
    mutating func takeLate(at now: Int) -> (none: [Int], unknown: [Int]) {
        func isLate(_ entry: Waiting) -> Bool {
            entry.ticket != nil && now - entry.since >= ClusterLimits.propose
        }
        var late = (none: takeAll(where: isLate), unknown: [Int]())
        for index in sent?.entries.indices ?? 0..<0 where isLate(sent!.entries[index]) {
            late.unknown.append(sent!.entries[index].ticket!)
            sent!.entries[index].ticket = nil
        }
        return late
    }

    /// Takes everything, with what is known of it.
    mutating func takeAll() -> (none: [Int], unknown: [Int]) {
        defer { sent = nil }
        return (takeAll { _ in true }, sent?.entries.compactMap(\.ticket) ?? [])
    }

    /// Removes entries that wait, and returns their tickets. Session by session: a simulation has to be the same each time.
    private mutating func takeAll(where isMeant: (Waiting) -> Bool) -> [Int] {
        if count == 0 { return [] }
        var tickets: [Int] = []
        for (_, session) in knownSessions.sorted(by: { $0.key < $1.key }) {
            for entry in session.entries where isMeant(entry) {
                tickets += entry.ticket.map { [$0] } ?? []
                session.user.bytes -= entry.entry.size
                bytes -= entry.entry.size
                count -= 1
            }
            session.entries.removeAll(where: isMeant)
        }
        return tickets
    }
}

extension ProposalQueue {
    /// Lanes that wait for their turn. One that was charged while it waited takes a later place when it comes up.
    fileprivate struct Turns<L: Lane> {
        private var queue = FairQueue<L>()

        var isEmpty: Bool { queue.isEmpty }

        mutating func add(_ lane: L) {
            if lane.queuedAt != nil { return }
            queue.add(lane, &lane.share)
            lane.queuedAt = lane.share.done
        }

        mutating func takeFirst() -> L? {
            while let lane = queue.takeFirst() {
                let isCharged = lane.share.done > lane.queuedAt!
                lane.queuedAt = nil
                guard isCharged else { return lane }
                add(lane)
            }
            return nil
        }
    }
}
