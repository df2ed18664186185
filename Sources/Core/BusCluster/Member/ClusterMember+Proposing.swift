import BusMachine

/// Membership, and what is proposed under it.
extension ClusterMember {
    /// Does what can be done now.
    func proceed() {
        guard phase == .following, isAttached else { return }
        trimIfDue()
        noteEndBefore()
        if barriers.ofReading == 0 { joinIfDue() }
        guard let incarnation else { return }
        reportIfDue()
        giveUpBeginningIfInVain()
        guard phase == .following else { return }
        if queue.sent != nil { return sendAgainIfDue() }
        guard isProposalDue else { return }
        propose(under: incarnation)
    }

    /// Whether there is something to propose, if only what this member knows.
    private var isProposalDue: Bool {
        // What others would read in it they could not compare with anything.
        if gatheringSince != nil { return isBeginningDue }
        if shownProof != nil { return true }
        if !queue.isEmpty || isEvidenceWanted {
            return queue.fillsProposal || now - lastProposal >= spacing
        }
        // The first member points out what is due, each further one if those before it do not.
        let before = replica.members.values.count { $0.incarnation < incarnation ?? 0 }
        if isHeartbeatDue(before: before) { return true }
        guard replica.nextDue <= time.clock else { return false }
        let due = time.elapsed(at: replica.nextDue)
        // Where this clock does not count, pointing it out again helps no more.
        let isInVain = lastProposal >= due && replica.machine.time < replica.nextDue
        return now - max(due, lastProposal) >= (before + (isInVain ? 1 : 0)) * ClusterLimits.dueDelay
    }

    /// Each shows its clock now and then, and the first one moves the time of the bus on if nobody else has.
    private func isHeartbeatDue(before: Int) -> Bool {
        if omitted.contains(.heartbeat) { return false }
        if now - lastProposal >= ClusterLimits.heartbeat(of: replica.members.count) { return true }
        let last = max(lastProposal, time.elapsed(at: replica.machine.time))
        return now - last >= ClusterLimits.heartbeat + before * ClusterLimits.dueDelay
    }

    /// The time from one proposal to the next, in milliseconds: what comes meanwhile is gathered.
    private var spacing: Int {
        ClusterLimits.spacing(
            of: 1 + others.count(thatProposedSince: now - ClusterLimits.busy), among: replica.members.count)
    }

    /// How long what is gathered has to wait until it is proposed, in milliseconds; nil: nothing is.
    package var timeToProposal: Int? {
        guard canPropose, gatheringSince == nil, queue.sent == nil, !queue.isEmpty || isEvidenceWanted else {
            return nil
        }
        return max(1, lastProposal + spacing - now)
    }

    /// The latest rules that all who are present know: a member that knows only earlier ones would stop. Whoever can't follow those in
    /// force has stopped already.
    private var rules: Int {
        let known = replica.members.keys.reduce(ClusterLimits.rules) { rules, member in
            member == name
                ? rules : min(rules, others.reports[member]?.about.rules ?? ClusterLimits.rulesBeforeReports)
        }
        return replica.hasBegun ? max(known, replica.machine.rules) : known
    }

    /// Before there is a bus, nothing of it is lost.
    private var shownProof: Evidence? { replica.hasBegun ? proof : nil }

    private func propose(under incarnation: Int) {
        lastNumber += 1
        let name = ProposalName(member: self.name, incarnation: incarnation, number: lastNumber)
        // What is seen of a lost log is shown alone: nothing beside it would count.
        let proof = shownProof
        let entries: [ProposalQueue.Waiting]
        if gatheringSince != nil {
            entries = [.init(ticket: nil, entry: beginning, since: now)]
        } else {
            entries = proof == nil ? queue.take() : []
        }
        let content = ProposalContent(
            rules: rules, clock: time.clock, evidence: proof ?? replica.evidence,
            entries: entries.map(\.entry)
        ).encoded
        isEvidenceWanted = false
        lastProposal = now
        queue.sent = .init(
            name: name, content: content, entries: entries, isProof: proof != nil, since: now, sentAt: now)
        outputs.append(.propose(name, content))
    }

    // MARK: - The name

    private func joinIfDue() {
        switch membership {
        case .none: membership = .joining
        case .waiting(var namesake) where now >= namesake.next:
            namesake.next = .max
            membership = .waiting(for: namesake)
        case .waiting, .joining, .member, .leaving: return
        }
        outputs.append(.join(report: takeReport()))
    }

    /// Another member of this name is present. No earlier run of this one is present for longer than its lease, which starts over
    /// when the log changes its leader.
    func note(namesake incarnation: Int, lease: Int) {
        var end = now + 2 * lease
        if case .waiting(let known) = membership, known.incarnation == incarnation { end = known.end }
        // A log that has gone back may have one of before.
        if incarnation <= own.incarnation {
            membership = .none
            return outputs.append(.end(name, incarnation: incarnation))
        }
        membership = .waiting(
            for: Namesake(
                incarnation: incarnation, lease: lease, end: end, next: now + ClusterLimits.joinAgain))
        // This run has had the name, so the holder is no earlier run.
        if own.isOfThisRun || now > end { outputs.append(.notice(.nameTaken)) }
    }

    // MARK: - What became of it

    func note(_ outcome: ProposalOutcome, of name: ProposalName) {
        guard queue.sent?.name == name else { return }
        queue.sent!.isAnswered = true
        switch outcome {
        case .acknowledged(let place), .alreadyThere(let place): queue.sent!.place = place
        case .refused:
            // The end comes in order, and then it is proposed again.
            loseMembership(name.incarnation)
        case .notProposed(let failure):
            queue.sent!.sentAt = nil
            // A log that is full answers at once, until its operator has made room.
            if failure.isRefusal { queue.sent!.notBefore = now + ClusterLimits.proposeAgain }
        // It may be in the log all the same.
        case .unknown: queue.sent!.sentAt = nil
        }
    }

    /// Sends a proposal again of whose outcome nothing was heard: unchanged, so that it counts once.
    private func sendAgainIfDue() {
        guard var sent = queue.sent, sent.sentAt == nil, sent.isAnswered, sent.place == nil,
            now >= sent.notBefore
        else { return }
        (sent.sentAt, sent.isAnswered) = (now, false)
        guard omitted.contains(.sameAgain) else {
            queue.sent = sent
            return outputs.append(.propose(sent.name, sent.content))
        }
        sent.entries = queue.take() + sent.entries
        queue.sent = sent
        let content = ProposalContent(
            rules: rules, clock: time.clock, evidence: replica.evidence, entries: sent.entries.map(\.entry))
        outputs.append(.propose(sent.name, content.encoded))
    }

    /// The log delivers late what it has acknowledged: another reading may be faster.
    func readAgainIfStale() {
        guard phase == .following, isAttached, let sent = queue.sent, sent.place != nil,
            let sentAt = sent.sentAt, now - sentAt >= ClusterLimits.delivery
        else { return }
        queue.sent?.sentAt = now
        beginReading()
    }

    /// Begins a new incarnation, where the numbers of this one are in doubt, or its sessions are nobody's.
    package func leave() {
        guard case .member(let incarnation) = membership else { return }
        membership = .leaving(incarnation: incarnation)
        outputs.append(.leave)
    }

    func loseMembership(_ incarnation: Int) {
        guard
            membership == .member(incarnation: incarnation)
                || membership == .leaving(incarnation: incarnation)
        else { return }
        membership = .none
        outputs.append(.notice(.ended(incarnation: incarnation)))
    }

    /// Its end may lie in what was not applied here: in a snapshot of another member, or in what was lost. In a log that has
    /// gone back behind its joining, it has no end: once all of that log is read, it is over.
    private func noteEndBefore() {
        let (incarnation, isRead): (Int, Bool)
        switch membership {
        case .member(let joined): (incarnation, isRead) = (joined, false)
        case .leaving(let joined): (incarnation, isRead) = (joined, barriers.ofReading == 0)
        case .none, .joining, .waiting: return
        }
        guard isRead || replica.link.place >= incarnation, replica.members[name]?.incarnation != incarnation
        else { return }
        loseMembership(incarnation)
    }

    // MARK: - Reports and trimming

    var report: MemberReport {
        MemberReport(
            stored: min(stored, trimming.held ?? .max), revision: replica.machine.revision,
            hasBegun: replica.hasBegun, about)
    }

    private func takeReport() -> [UInt8] {
        let report = report
        reported = (report.stored, report.revision, false)
        return report.encoded
    }

    /// Trimming goes by reports, and each costs as much as a proposal: where hardly anything is committed, they are few.
    private func reportIfDue() {
        let places = report.stored - reported.stored
        let isIdle = replica.machine.revision - reported.revision < replica.history.trim / 4
        guard reported.isDue || places >= replica.history.trim / (isIdle ? 1 : 4) else { return }
        outputs.append(.report(takeReport()))
    }

    /// The member that joined first trims: up to the slowest, or, where the log is large, up to what it has itself.
    private func trimIfDue() {
        guard let incarnation, replica.members.values.allSatisfy({ $0.incarnation >= incarnation }) else {
            return
        }
        let own = report.stored
        let slowest =
            replica.members.keys.map { $0 == name ? own : others.reports[$0]?.stored ?? 0 }.min() ?? 0
        let isLarge = trimming.bytes > replica.history.log
        let end = isLarge ? stored : min(stored, slowest)
        // What comes back has to find what it had last.
        guard isLarge || end - trimming.behind > replica.history.trim,
            let link = replica.links.link(replica.history.left, before: end), link.place > trimming.behind
        else { return }
        (trimming.behind, trimming.bytes) = (link.place, 0)
        outputs.append(.trim(through: link.place))
    }
}

/// How far the log was trimmed, and how far it may be.
struct LogTrimming {
    /// The place that was trimmed last.
    var behind = 0
    /// Of the proposals behind it.
    var bytes = 0
    /// Another member is being given the bus as it is at this place, and reads on from there. Nil: none is.
    var held: Int?
}
