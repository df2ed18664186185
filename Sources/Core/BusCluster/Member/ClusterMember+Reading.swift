import BusMachine

/// Entries that the log delivers are compared with those known here, then applied.
extension ClusterMember {
    /// Takes what the log has told, in order.
    package func receive(_ events: [OrderedLogEvent], now: Int) {
        time.note(clock: now)
        reading.isAnew = false
        for event in events where phase != .stopped {
            // What follows of the reading before comes again.
            if reading.isAnew, event.isOfReading { continue }
            receive(event)
        }
        proceed()
    }

    private func receive(_ event: OrderedLogEvent) {
        switch event {
        case .entry(let entry): take(entry)
        case .barrier(let number): reach(number)
        case .barrierFailed(let number, _): barriers.fail(number)
        // Where less is left than has to be compared, what is here may be of a log that was lost before it was trimmed.
        case .trimmedAway(let through):
            // What lies before was compared by the member that has given it.
            if let vouched, through <= vouched.place, case .comparing(let link) = phase,
                link.place < vouched.place
            {
                return beginReading(behind: vouched)
            }
            if let lack = search?.goOn(trimmedThrough: through) { return need(lack) }
            lackReplica(least: through)
        case .replaced(let other):
            if other == cluster, case .comparing(let link) = phase {
                // It ends before the place behind which it was to be read.
                loseLog(behind: link, most: link.place - 1)
            } else {
                // Whether anything is missing is seen by reading it.
                cluster = other
                beginReading()
            }
        case .proposed(let name, let outcome): note(outcome, of: name)
        case .joined(let incarnation):
            membership = .member(incarnation: incarnation)
            own = (incarnation, true)
            lastNumber = 0
            if gatheringSince != nil { gatheringSince = now }
            outputs.append(.remember(incarnation: incarnation))
            outputs.append(.notice(.joined(incarnation: incarnation)))
        case .nameTaken(let by, let lease): note(namesake: by.incarnation, lease: lease)
        case .leaseLost(let incarnation): loseMembership(incarnation)
        case .members(let members):
            // An earlier run that nobody waits for any more, while this one can't join yet.
            for member in members
            where phase == .waiting && member.name == name && member.incarnation <= own.incarnation {
                if membership == .none { outputs.append(.end(name, incarnation: member.incarnation)) }
            }
        case .reads(let relay, _):
            // The relay may have passed on entries that the log had already lost.
            if relay == nil, reading.isRelayed, phase != .waiting { beginReading() }
            reading.isRelayed = relay != nil
        case .membersFailed, .trimFailed, .passed: break
        case .trimmed(let through): trimming.behind = max(trimming.behind, through)
        case .attached(let name):
            let isNew = !isAttached
            (isAttached, detachedSince) = (true, nil)
            if isNew, !isStalled { outputs.append(.notice(.attached)) }
            if isNew, case .waiting(var namesake) = membership {
                // Leases may have started over.
                namesake.end = now + 2 * namesake.lease
                membership = .waiting(for: namesake)
            }
            if cluster == nil { cluster = name }
            // While it was out of reach the log may have lost something, and may have grown since.
            if isNew, phase != .waiting {
                // Whoever compared it did so with the log of before.
                vouched = nil
                beginReading()
            }
        case .detached(let failure):
            if isAttached || detachedSince == nil {
                outputs.append(.notice(.detached(failure.message)))
                detachedSince = time.clock
            }
            isAttached = false
        }
    }

    // MARK: - Reading again

    /// Reads again what was read last, so that a log that has lost something is recognised.
    func beginReading() {
        let last = replica.link
        beginReading(
            behind: omitted.contains(.overlap)
                ? last
                : replica.links.link(replica.history.overlap, before: last.place) ?? replica.links.kept.first!
        )
    }

    private func beginReading(behind from: ChainLink) {
        phase = .comparing(from)
        reading = MemberReading(isAnew: true, from: from)
        // What the log has acknowledged it may have lost since, before it came here.
        if queue.sent?.place != nil { (queue.sent!.place, queue.sent!.sentAt) = (nil, nil) }
        outputs.append(.read(behind: from.place, of: cluster))
        outputs += barriers.beginReading().map { .barrier($0) }
    }

    func lackReplica(least: Int) { need(ReplicaLack(least: least, most: nil)) }

    private func need(_ lack: ReplicaLack) {
        phase = .waiting
        gatheringSince = nil
        // Nothing is proposed before there is one, and the others are to see that it has none.
        leave()
        outputs.append(.needsReplica(lack))
    }

    /// Goes on with another replica, which is durable: a snapshot of another member, or an earlier one of its own.
    ///
    /// - Parameter isFromMember: A member gave it that follows the log, once a barrier had been reached that was set after this
    ///   member began to wait.
    package func begin(with other: Replica, isFromMember: Bool = false, now: Int) {
        time.note(clock: now)
        guard phase == .waiting else { return }
        // What was seen here and is not there has to be shown to all, unless it is only old.
        keepProof(comparedWith: other, isCurrent: isFromMember)
        discardAnswers()
        (isLost, gatheringSince) = (false, nil)
        replica = other
        vouched = isFromMember ? other.link : nil
        stored = other.link.place
        others.comparisons = MemberComparisons()
        beginReading()
        proceed()
    }

    private func keepProof(comparedWith other: Replica, isCurrent: Bool) {
        guard proof == nil, !omitted.contains(.proofOfLoss) else { return }
        let seen = replica.evidence
        switch other.links.find(seen.link.place) {
        case .link(let link) where link.input == seen.link.input: return
        case .forgotten: return
        default: break
        }
        // A copy that is older, whose log goes on: what is missing follows. A current snapshot has all that the log has.
        if seen.link.place > other.link.place, !isLost, !isCurrent { return }
        proof = seen
    }

    // MARK: - Entries

    private func take(_ entry: OrderedEntry) {
        switch phase {
        case .comparing(let link): compare(entry, behind: link)
        case .following: apply(entry)
        case .waiting, .stopped: break
        }
    }

    /// Compares an entry with the link that is here.
    private func compare(_ entry: OrderedEntry, behind link: ChainLink) {
        if link == replica.link {
            (phase, search) = (.following, nil)
            return apply(entry)
        }
        guard let input = Replica.input(of: entry, behind: link.input) else { return note(entry) }
        guard case .link(let known) = replica.links.find(entry.place), known.input == input else {
            return loseLog(behind: link)
        }
        note(entry)
        phase = .comparing(known)
    }

    /// The log lacks what is here behind a link. What was told of that, was told of another history.
    func loseLog(behind link: ChainLink, most: Int? = nil) {
        isLost = true
        outputs.append(.notice(.logLost(behind: link.place)))
        if proof == nil, !omitted.contains(.proofOfLoss) { proof = replica.evidence }
        discardAnswers()
        let most = most ?? link.place
        guard link == reading.from else {
            search = nil
            return need(ReplicaLack(least: 0, most: most))
        }
        var search = search ?? LossSearch()
        need(search.goBack(behind: most))
        self.search = search
    }

    /// Proposals and applied entries are no longer certain to be in the log.
    private func discardAnswers() {
        let left = queue.takeAll()
        fail(unanswered.map(\.ticket) + left.unknown, .unknown)
        fail(left.none, .none)
        unanswered = []
        barriers.forgetReached()
        // Its last proposals may be there or not, and their numbers with them.
        leave()
    }

    private func apply(_ entry: OrderedEntry) {
        note(entry)
        let hadBegun = replica.hasBegun
        let applied: AppliedEntry?
        do throws(ReplicaStop) {
            applied = try replica.apply(entry)
        } catch {
            // Who has the states that the bus began with has made a snapshot behind that.
            if case .otherBeginning(let place) = error { return lackReplica(least: place) }
            return stop(.newerRules(error))
        }
        guard let applied else { return }
        others.progress.note(applied.link.place, revision: replica.machine.revision)
        outputs.append(.applied(entry, applied))
        if !hadBegun, replica.hasBegun {
            // Whoever comes has to see that there is a bus.
            reported.isDue = true
            if gatheringSince != nil {
                gatheringSince = nil
                outputs.append(.notice(.epoch(replica.machine.epoch, revision: replica.machine.revision)))
            }
        }
        if let epoch = applied.epoch {
            outputs.append(.notice(.epoch(epoch, revision: replica.machine.revision)))
        }
        switch entry.content {
        case .proposal(let name, let content):
            trimming.bytes += content.count
            if name.member != self.name { others.noteProposal(of: name.member, now: now) }
            if others.note(clockAhead: applied.clockAhead, of: name.member) {
                outputs.append(.notice(.clockAhead(name.member, milliseconds: applied.clockAhead)))
            }
            if let (link, comparison) = applied.evidence {
                others.progress.note(name.member, at: link.place)
                note(link, comparison, of: name.member)
            }
            if name == queue.sent?.name { finish(applied) }
        case .ended(let members):
            for member in members {
                others.comparisons.forget(member)
                others.progress.forget(member)
                others.forgetProposals(of: member)
            }
            // Nothing of an ended incarnation counts any more, wherever it is: it can be proposed again.
            if members.contains(name), let sent = queue.sent, sent.name.incarnation < entry.place {
                if omitted.contains(.newIncarnation) {
                    queue.sent = nil
                } else {
                    queue.takeBack(behindOthers: omitted.contains(.orderOfSession))
                }
            }
        case .joined(let member, _):
            others.comparisons.forget(member)
            others.forgetClock(of: member)
        case .reported: break
        }
    }

    /// What members report beside the history.
    private func note(_ entry: OrderedEntry) {
        switch entry.content {
        case .joined(let member, let report), .reported(let member, _, let report):
            others.reports[member] = MemberReport(report)
        case .ended(let members):
            for member in members { others.reports[member] = nil }
        case .proposal: break
        }
    }

    private func note(_ link: ChainLink, _ comparison: AppliedEntry.Comparison, of member: String) {
        guard member != name, !omitted.contains(.divergence) else { return }
        if others.comparisons.note(member, link, comparison) {
            outputs.append(.notice(.differs(member, place: link.place)))
            isEvidenceWanted = true
        }
        let present = replica.members.keys.filter { $0 != name }
        if let verdict = others.comparisons.verdict(among: present) { stop(verdict) }
    }

    /// Its own proposal has been applied.
    private func finish(_ applied: AppliedEntry) {
        guard let sent = queue.sent, applied.void != .incarnation else { return }
        // Its numbers are out of step: under the next incarnation they are not.
        if applied.void == .number { return leave() }
        queue.sent = nil
        noteProgress()
        if sent.isProof {
            proof = nil
            answerStored()
        }
        guard applied.void == nil else {
            return fail(sent.entries.compactMap(\.ticket), .none)
        }
        for (entry, (outcome, spent)) in zip(sent.entries, zip(applied.outcomes, applied.spent)) {
            if let ticket = entry.ticket { unanswered.append((applied.link.place, ticket, outcome, spent)) }
        }
        queue.noteCarriedOut(applied.spent, of: sent.entries)
        if omitted.contains(.durableBeforeAnswer) { answerStored() }
    }

    // MARK: - Barriers

    private func reach(_ number: Int) {
        if case .comparing(let link) = phase, number >= barriers.ofReading {
            // The log ends before what was read of it.
            guard link == replica.link else { return loseLog(behind: link) }
            (phase, search) = (.following, nil)
        }
        barriers.reach(number, at: replica.link.place)
        answerStored()
    }
}

/// How the log is being read.
struct MemberReading {
    /// It was started over among the events that are being gone through.
    var isAnew = false
    /// It goes through a relay.
    var isRelayed = false
    /// Where it began: what comes behind that is compared with what is here.
    var from = ChainLink.beginning
}
