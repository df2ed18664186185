import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// Proposals: whether they count, what they say of the log and of the time, and their entries.
extension Replica {
    func apply(
        _ name: ProposalName, _ bytes: [UInt8], at place: Int, _ input: ChainHash,
        _ effects: inout Effects
    ) throws(ReplicaStop) {
        let content: ProposalContent?
        do throws(ProposalFailure) {
            content = try ProposalContent(bytes)
        } catch {
            if case .newer(let rules) = error, !omitted.contains(.rulesNumber) {
                throw .newerRules(rules)
            }
            content = nil
        }
        effects.void = void(name)
        if effects.void != nil { return }
        if let content { try requireBeginning(of: content, at: place) }
        members[name.member]?.number = name.number
        guard let content else { return effects.void = .malformed }
        let comparison = compare(content.evidence.link)
        effects.evidence = (content.evidence.link, comparison)
        if comparison == .otherInput, hasBegun, !omitted.contains(.lostLog) {
            beginEpoch(input, after: content, &effects)
            if !omitted.contains(.voidAfterLoss) { return effects.void = .lostLog }
        }
        // Also for what follows from later entries that are no proposals, such as the end of a member.
        machine.rules = content.rules
        // Before the bus has begun, replicas agree on nothing but that.
        guard hasBegun || begins(with: content) else { return }
        effects.clockAhead = advance(to: content.clock, of: name.member)
        // Members of before have not followed parts: all begin with the first proposal by these rules.
        if content.rules >= ClusterLimits.rulesOfParts { machine.beginFollowingParts() }
        if !omitted.contains(.dueBeforeEntries) { carryOutDue() }
        var left = ClusterLimits.operations
        for entry in content.entries where left > 0 {
            spent = ClusterLimits.operationsOfEntry
            let outcome = carryOut(entry, of: name.member)
            if case .refused = outcome { spent &+= ClusterLimits.operationsOfRefusal }
            effects.outcomes.append(outcome)
            effects.spent.append(spent)
            if content.rules >= BusLimits.rulesOfConditions { left -= spent }
        }
        if omitted.contains(.dueBeforeEntries) { carryOutDue() }
    }

    private func void(_ name: ProposalName) -> AppliedEntry.Void? {
        guard let member = members[name.member] else {
            return omitted.contains(.incarnations) ? nil : .incarnation
        }
        if member.incarnation != name.incarnation, !omitted.contains(.incarnations) { return .incarnation }
        if name.number != member.number + 1, !omitted.contains(.numbers) { return .number }
        return nil
    }

    // MARK: - The history

    /// Whether what went in up to there is what is known here.
    func isKnown(_ seen: ChainLink) -> Bool {
        let comparison = compare(seen)
        return comparison == .same || comparison == .otherOutput
    }

    private func compare(_ seen: ChainLink) -> AppliedEntry.Comparison {
        switch links.find(seen.place) {
        case .forgotten: .forgotten
        case .nothing: .otherInput
        case .link(let link) where link.input != seen.input: .otherInput
        case .link(let link): link.output == seen.output ? .same : .otherOutput
        }
    }

    /// Somebody has seen what this log does not have, and may have told clients: from here on it is another history. What
    /// was seen in an earlier one is no news.
    private func beginEpoch(_ input: ChainHash, after content: ProposalContent, _ effects: inout Effects) {
        if earlierEpochs.contains(content.evidence.epoch) { return }
        noteEarlier(machine.epoch)
        // It may be of a history that this log has lost together with its beginning; others have seen the same.
        if content.rules >= 2 { noteEarlier(content.evidence.epoch) }
        machine.epoch =
            omitted.contains(.agreedEpoch)
            ? input.next { $0.add(ObjectIdentifier(self).hashValue) }.uuid : input.uuid
        effects.epoch = machine.epoch
    }

    // MARK: - The time

    /// Sets the time by what a member's clock shows, and returns how much of that does not count.
    private func advance(to clock: Int, of member: String) -> Int {
        let known = members.lazy.filter { $0.key != member }.compactMap(\.value.clock).max()
        // Others that have not shown their clocks yet agree with the time of the bus, once it has one.
        let others = known ?? (members.count > 1 && machine.time > 0 ? machine.time : nil)
        members[member]?.clock = clock
        var time = clock
        if let others, !omitted.contains(.clockLead) { time = min(clock, others + ClusterLimits.clockLead) }
        if omitted.contains(.timeNeverBack) { machine.turnBack(to: time) }
        machine.advance(to: time)
        return clock - time
    }

    /// Carries out what is due, as much as one turn may.
    private func carryOutDue() {
        guard hasBegun else { return }
        var left = ClusterLimits.due
        spent = 0
        while left > 0, !isTurnSpent, let session = sessions.takeDue(at: machine.time) {
            if let session = machine.session(session) { endDue(session) }
            left -= 1
        }
        while left > 0, !isTurnSpent, fireFirstDue() {
            spent &+= ClusterLimits.operationsOfEntry
            left -= 1
        }
    }

    /// Ends a session, and counts what that takes besides its expressions.
    func endDue(_ session: Session) {
        // Members that come from a copy do not have it, so its end spends nothing.
        if session.isEmpty, machine.rules >= BusLimits.rulesOfCopies {
            return machine.closeSession(session.id)
        }
        spent &+=
            ClusterLimits.operationsOfEntry
            + session.ephemeralStores.count * ClusterLimits.operationsOfCreation
        end(session)
    }

    /// Whether the operations in `spent` are as many as one turn may take. By earlier rules a turn has no such bound.
    var isTurnSpent: Bool {
        machine.rules >= BusLimits.rulesOfSlices && spent >= ClusterLimits.operations
    }

    // MARK: - Entries

    private func carryOut(_ entry: ClusterEntry, of member: String) -> CommandOutcome {
        do throws(RequestError) {
            return .done(try reply(to: entry, of: member))
        } catch {
            machine.plan.clear()
            return .refused(error)
        }
    }

    private func reply(to entry: ClusterEntry, of member: String) throws(RequestError) -> CommandReply {
        let principal = try principal(entry.by, of: member)
        let key = SessionKey(member: member, number: entry.session)
        var caller: Caller {
            Caller(principal, isOperator: entry.isOperator, grants: grants(of: principal))
        }
        switch entry.command {
        case .request(let line):
            return try execute(line, of: key, by: caller)
        case .revert(let line, let past):
            return try revert(line, to: past, by: caller)
        case .sessionNamed(let name, let linger):
            var reply = CommandReply(.greeting, revision: machine.revision)
            reply.isResumed = try self.name(
                key, name, linger: linger, principal, isOperator: entry.isOperator)
            return reply
        case .sessionEnded:
            endSession(key)
            return CommandReply(revision: machine.revision)
        case .configure(let text):
            try begin(asSaidBy: text)
            return try configure(text, by: principal)
        }
    }

    /// Who asks: a user is one of the member's machine, tokens and certificates are the same everywhere.
    private func principal(_ text: [UInt8], of member: String) throws(RequestError) -> Principal {
        if let last = lastAsker, last.text == text, last.member == member { return last.principal }
        let principal = try named(text, of: member)
        lastAsker = (text, member, principal)
        return principal
    }

    private func named(_ text: [UInt8], of member: String) throws(RequestError) -> Principal {
        var by = (try? JSON(parsing: text))?.object ?? [:]
        if by["uid"] != nil, !omitted.contains(.machineOfUser) { by["member"] = .string(member) }
        guard let principal = machine.principal(by: by) else {
            throw RequestError(.internal, "The member does not say who asks; report this as a mistake.")
        }
        return principal
    }
}
