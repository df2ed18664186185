import BusCommands
import BusMachine

/// One member of a bus over several machines: it proposes what its clients ask for, applies what the log has, and answers
/// its clients when that is durable.
///
/// Values go in, values come out: its owner has the log, the disk and the clock. Each call is followed by `takeOutputs`,
/// whose values are carried out in their order. Times are in milliseconds since 1970, by the machine's own clock.
package final class ClusterMember {
    /// How far the reading is.
    enum Phase: Equatable {
        /// Links that are here already are read again; up to this one the log has the same.
        case comparing(ChainLink)
        /// Entries that come are applied.
        case following
        /// Another replica is needed.
        case waiting
        case stopped
    }

    package let name: String
    package internal(set) var replica: Replica
    let omitted: OmittedRules
    /// Its report to the other members.
    package let about: MemberReport.About
    var outputs: [MemberOutput] = []
    var phase = Phase.waiting
    var time: MemberTime
    /// By which waiting is measured.
    var now: Int { time.elapsed }

    // The log.
    /// The log that was read last; nil: none yet.
    package internal(set) var cluster: String?
    package internal(set) var isAttached = false
    /// Since when the log can't be reached.
    package internal(set) var detachedSince: Int?
    /// The log takes no proposals, although it can be reached.
    var isStalled = false
    /// Where the replica stood when a member that was present gave it; nil: it is this member's own.
    var vouched: ChainLink?
    var reading = MemberReading()
    var barriers = MemberBarriers()

    // Membership.
    enum Membership: Equatable {
        case none
        /// It was asked for.
        case joining
        /// Another one has the name.
        case waiting(for: Namesake)
        case member(incarnation: Int)
        /// It has to join again, once this incarnation has ended.
        case leaving(incarnation: Int)
    }

    /// Another member of this name. It may be an earlier run of this one that the copy here does not know of; then its lease
    /// runs out.
    struct Namesake: Equatable {
        let incarnation: Int
        let lease: Int
        /// When to stop waiting for that.
        var end: Int
        /// When to ask next; `.max` while the answer is awaited.
        var next: Int
    }

    var membership = Membership.none
    /// Its last known incarnation, and whether this run has joined as it.
    var own: (incarnation: Int, isOfThisRun: Bool)
    /// The number of the last proposal under this incarnation.
    var lastNumber = 0
    var queue = ProposalQueue()
    var lastProposal = Int.min / 2
    /// A heartbeat is due at once: somebody waits for what this member knows.
    var isEvidenceWanted = false
    /// Evidence of entries that the log lacks now, to be shown to all members.
    package internal(set) var proof: Evidence? {
        didSet { if proof != oldValue { outputs.append(.rememberProof(proof)) } }
    }
    /// The search for the last place that a log has which lacks all that was compared; nil: there is none.
    var search: LossSearch?
    /// Since when it is a member that is to start the bus over.
    var gatheringSince: Int?
    /// The log was found to lack what is here.
    var isLost = false

    // The local copy.
    package internal(set) var stored: Int
    /// Outcomes that wait until they are durable, by place.
    var unanswered: [(place: Int, ticket: Int, outcome: CommandOutcome, spent: Int)] = []

    // Others.
    var others = OtherMembers()
    var trimming = LogTrimming()
    /// What the others were told last, and whether they have to be told of more at once.
    var reported = (stored: 0, revision: 0, isDue: false)

    /// - Parameters:
    ///   - replica: What the local copy holds, or a new one.
    ///   - cluster: The log from which it is; nil: whichever it will be.
    ///   - incarnation: The one that was remembered last; 0: none.
    ///   - proof: The evidence that was remembered last.
    ///   - about: What it tells the others of itself.
    ///   - resumes: It is present by the lease of the process before it, which has left nothing on its way: like one that has
    ///     only paused.
    package init(
        name: String, replica: Replica, cluster: String? = nil, incarnation: Int = 0,
        proof: Evidence? = nil, about: MemberReport.About = .init(), resumes: Bool = false, now: Int,
        omitting omitted: OmittedRules = []
    ) {
        self.name = name
        self.replica = replica
        self.cluster = cluster
        self.omitted = omitted
        self.about = about
        time = MemberTime(clock: now)
        own = (incarnation, false)
        self.proof = proof
        stored = replica.link.place
        if resumes, let present = replica.members[name] {
            membership = .member(incarnation: present.incarnation)
            (own, lastNumber) = ((present.incarnation, true), present.number)
            reported.isDue = true
        }
        beginReading()
    }

    package func takeOutputs() -> [MemberOutput] {
        defer { outputs = [] }
        return outputs
    }

    /// Whether its clients' requests can be proposed without waiting for the log to be reached.
    package var canPropose: Bool { isAttached && phase == .following && incarnation != nil }

    /// Whether it applies what the log delivers: then others can have its snapshot.
    package var isFollowing: Bool { phase == .following }

    /// Whether everything that was in the log when reading began is applied.
    package var isCaughtUp: Bool { phase == .following && barriers.ofReading == 0 }

    /// Bytes of proposals behind the place that was trimmed last.
    package var logBytes: Int { trimming.bytes }

    /// Whether something waits that time decides.
    package var isWaiting: Bool {
        !queue.isEmpty || queue.sent != nil || !barriers.isEmpty
            || gatheringSince != nil
    }

    /// Whether nobody waits for anything that it has proposed or is to propose, or for its answer: another process can go on
    /// as this member.
    package var isAtRest: Bool { !isWaiting && unanswered.isEmpty }

    /// Whether it waits for the end of another member of its name.
    package var isNameTaken: Bool {
        guard case .waiting(let namesake) = membership else { return false }
        // Until the answer to the last question is there. A log that is full gives none.
        return now <= namesake.end + ClusterLimits.joinAgain + ClusterLimits.propose
    }

    /// Its incarnation, once all that it is to apply before is applied.
    package var incarnation: Int? {
        guard case .member(let incarnation) = membership,
            replica.members[name]?.incarnation == incarnation
        else { return nil }
        return incarnation
    }

    // MARK: - Clients

    /// Takes an entry. It is answered by `answered` or `failed`, exactly once, unless the member stops.
    ///
    /// - Parameters:
    ///   - ticket: Comes back with the answer.
    ///   - user: The number of the user who asks. Users take turns.
    package func submit(_ entry: ClusterEntry, ticket: Int, user: Int = 0, now: Int) {
        submit([(entry, ticket, user)], now: now)
    }

    /// Takes several entries, which are proposed together as far as they fit.
    package func submit(_ entries: [(entry: ClusterEntry, ticket: Int, user: Int)], now: Int) {
        time.note(clock: now)
        for (entry, ticket, user) in entries { add(entry, ticket, of: user) }
        proceed()
    }

    private func add(_ entry: ClusterEntry, _ ticket: Int, of user: Int) {
        guard phase != .stopped, entry.size + ClusterEntry.overhead <= ClusterLimits.proposal,
            queue.hasRoom(for: entry, of: user)
        else {
            let reason =
                entry.size + ClusterEntry.overhead > ClusterLimits.proposal
                ? "The request is longer than the shared log takes, \(ClusterLimits.proposal) bytes; send less at once."
                : "Too much of yours waits for the shared log; wait for answers before you send more."
            return outputs.append(.failed(ticket, MemberFailure(.none, reason)))
        }
        queue.add(entry, ticket, of: user, now)
    }

    /// Asks for a barrier: `synced` comes when everything that anybody had been answered before is applied here.
    package func sync(ticket: Int, now: Int) {
        time.note(clock: now)
        if omitted.contains(.barrier) {
            return outputs.append(.synced(ticket, revision: replica.machine.revision))
        }
        guard phase != .stopped else {
            return outputs.append(.failed(ticket, MemberFailure(.none, "This member has stopped.")))
        }
        outputs.append(.barrier(barriers.add(ticket, now: self.now)))
    }

    // MARK: - The local copy

    /// The log is to keep what lies behind this place, unless it grows too large.
    package func hold(behind place: Int?) { trimming.held = place }

    /// All that was applied up to a place is durable.
    package func stored(through place: Int, now: Int) {
        time.note(clock: now)
        stored = max(stored, place)
        answerStored()
        proceed()
    }

    func answerStored() {
        let end = omitted.contains(.durableBeforeAnswer) ? Int.max : stored
        let due = unanswered.prefix { $0.place <= end }
        unanswered.removeFirst(due.count)
        for answer in due { outputs.append(.answered(answer.ticket, answer.outcome, spent: answer.spent)) }
        // While the loss of what was seen is not known to all, what is here is of an epoch that is over.
        if proof != nil { return }
        for ticket in barriers.takeDurable(through: end) {
            outputs.append(.synced(ticket, revision: replica.machine.revision))
        }
    }

    // MARK: - Time

    /// Does what is due. To be called at least every 100 ms while anything waits, and every second otherwise.
    package func tick(now: Int) {
        time.note(clock: now)
        guard phase != .stopped else { return }
        let late = queue.takeLate(at: self.now)
        // What was proposed was asked for before what waits.
        fail(late.unknown, omitted.contains(.unknownOutcome) ? .none : .unknown)
        fail(late.none, .none)
        failLateBarriers()
        renewBarriers()
        noteStall()
        readAgainIfStale()
        proceed()
    }

    /// A server may deliver what there is without a majority behind it: then nothing new gets into the log.
    private func noteStall() {
        guard !isStalled, isAttached, let since = queue.sent?.since, now - since >= ClusterLimits.stall else {
            return
        }
        isStalled = true
        detachedSince = time.clock
        outputs.append(
            .notice(
                .detached(
                    "the log has not taken a proposal for \(ClusterLimits.stall / 1000) seconds: its servers may have no majority"
                )))
    }

    /// A proposal has come through.
    func noteProgress() {
        guard isStalled else { return }
        isStalled = false
        detachedSince = nil
        if isAttached { outputs.append(.notice(.attached)) }
    }

    /// Asks again for barriers that the log has not made. Not at once: while it can't be reached, each would fail at once, too;
    /// and once it can be reached again, reading asks for all of them.
    private func renewBarriers() {
        guard isAttached, phase != .waiting else { return }
        outputs += barriers.renewFailed().map { .barrier($0) }
    }

    private func failLateBarriers() {
        let late = barriers.takeLate(since: now - ClusterLimits.propose)
        let message =
            "The shared log could not be reached in time, so it is not known what others have been answered; try again, or read without waiting for it."
        for ticket in late { outputs.append(.failed(ticket, MemberFailure(.none, message))) }
    }

    /// Answers everything that waits with a failure. Entries that were proposed already may still be committed, which their
    /// outcome says: `unknown`.
    package func failAll(because message: String, now: Int) {
        time.note(clock: now)
        let left = queue.takeLate(at: .max)
        for (tickets, outcome) in [
            (unanswered.map(\.ticket) + left.unknown, MemberFailure.Outcome.unknown),
            (left.none + barriers.takeLate(since: .max), .none),
        ] {
            for ticket in tickets { outputs.append(.failed(ticket, MemberFailure(outcome, message))) }
        }
        unanswered = []
    }

    func fail(_ tickets: [Int], _ outcome: MemberFailure.Outcome) {
        let message =
            outcome == .none
            ? "The shared log could not be reached in time, and nothing was committed; try again."
            : "The shared log took the request and has not been heard of since; a request with a key can be repeated."
        for ticket in tickets { outputs.append(.failed(ticket, MemberFailure(outcome, message))) }
    }

    func stop(_ reason: MemberStop) {
        guard phase != .stopped else { return }
        phase = .stopped
        outputs.append(.stopped(reason))
    }
}
