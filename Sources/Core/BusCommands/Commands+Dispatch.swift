import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Dispatches, now and later.
extension Commands {
    func dispatch(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        if let grants = caller.grants, !isEarlier { try authorizeDispatch(grants) }
        var isAcknowledged = try request.flag(.ack, default: true)
        let isLater = request.present.contains(.in) || request.present.contains(.at)
        // A mistake in these needs no state to be found.
        if isLater, request.present.contains(.where) {
            throw .invalid(
                "where",
                "A dispatch that comes later has no `where`; dispatch when it is due, or give the action a `when`."
            )
        }
        if request.present.containsAny(of: MemberSet(.if, .where)) {
            _ = try machine.requestedPrecondition(in: request)
        }
        let form = try requestedForm(isLater: isLater)
        let traceparent = try requestedTraceparent(isLater: isLater)
        let batch = try batchOfStores()
        guard try host.admit(.proposal(claim(of: batch, isLater: isLater))) else { return nil }
        var reply =
            isLater
            ? try schedule(by: caller, host) : try dispatchNow(batch, form, traceparent, by: caller, host)
        if isLater, try request.flag(.dryRun, default: false) { isAcknowledged = true }
        reply?.isAcknowledged = isAcknowledged
        return reply
    }

    /// How the caller wants to be told what has changed; nil: not at all.
    private func requestedForm(isLater: Bool) throws(RequestError) -> ToldForm? {
        guard let name = try request.string(.return) else { return nil }
        guard let form = ToldForm(rawValue: name) else {
            throw .invalid("return", "`return` must be \"changes\" or \"states\".")
        }
        guard !isLater else {
            throw .invalid(
                "return", "A dispatch that comes later has changed nothing yet; leave `return` out.")
        }
        return form
    }

    /// The place of a dispatch in a trace, as W3C's Trace Context writes it.
    private func requestedTraceparent(isLater: Bool) throws(RequestError) -> String? {
        guard let text = try request.string(.traceparent) else { return nil }
        guard Traceparent.isValid(text) else {
            throw .invalid(
                "traceparent",
                "`traceparent` is as in W3C's Trace Context: 00, a trace of 32 hexadecimal digits, a span of 16 and flags of 2, with hyphens between them."
            )
        }
        guard !isLater else {
            throw .invalid(
                "traceparent",
                "A dispatch that comes later is no part of a trace when it comes; leave `traceparent` out.")
        }
        return text
    }

    private func claim(of batch: [BatchStep]?, isLater: Bool) -> Claim {
        if isLater { return .timer }
        guard let batch else { return .events }
        var (count, isEphemeral) = (0, false)
        for case .create(let creation) in batch {
            count += 1
            isEphemeral = isEphemeral || creation.isEphemeral
        }
        return .stores(count, isEphemeral: isEphemeral)
    }

    /// Commits a dispatch, or a batch, at once.
    func dispatchNow(
        _ batch: [BatchStep]?, _ form: ToldForm?, _ traceparent: String? = nil, by caller: Caller,
        _ host: any CommandHost
    ) throws(RequestError) -> CommandReply? {
        let isDryRun = try request.flag(.dryRun, default: false)
        guard !request.present.contains(.timer) else {
            throw .invalid("timer", "`timer` names a dispatch that comes later; say when with `in` or `at`.")
        }
        let wanted = try machine.requestedPrecondition(in: request)
        let key = try machine.keyed(request, by: caller.principal)
        if !isDryRun {
            if var earlier = try earlier(key, .outcome) {
                if !maySeeOutcome(batch, caller.grants) {
                    (earlier.seen, earlier.returned) = (.init(matched: 0, changed: 0), nil)
                }
                return earlier
            }
            guard try host.admit(.commit) else { return nil }
        }
        machine.plan.clear()
        if let batch {
            guard try plan(batch, by: caller, host) else { return nil }
        } else {
            try machine.planDispatch(request, where: wanted, seenBy: caller.grants)
        }
        do throws(RequestError) {
            guard try host.admit(.plan(isTold: isDryRun || form != nil)) else {
                machine.releaseStores()
                return nil
            }
            if let grants = caller.grants { try machine.addConditions(grants) }
            try machine.requireBudget()
            let matched = try host.apply(by: caller.principal, spending: .max)
            // A drop by value that means no store.
            if batch != nil, !request.present.contains(.actions), machine.plan.storeSteps.isEmpty {
                return CommandReply(.outcome, revision: machine.revision)
            }
            machine.plan.traceparent = traceparent
            defer { machine.plan.traceparent = nil }
            return isDryRun
                ? rehearsal(form ?? .changes, matched: matched, by: caller)
                : commit(key, form, matched: matched, by: caller, host)
        } catch {
            machine.releaseStores()
            throw error
        }
    }

    private func rehearsal(_ form: ToldForm, matched: Int, by caller: Caller) -> CommandReply {
        let batch = machine.appliedStores()
        var reply = CommandReply(revision: machine.revision)
        reply.matched = batch.map(machine.matched(with:)) ?? matched
        if let seen = seen(batch, by: caller) { reply.matched = seen.matched }
        (reply.isRehearsal, reply.form) = (true, form)
        if machine.hasReturned { reply.returned = machine.returned(seenBy: caller.grants) }
        return reply
    }

    /// Commits what was applied.
    private func commit(
        _ key: KeyedRequest?, _ form: ToldForm?, matched: Int, by caller: Caller, _ host: any CommandHost
    ) -> CommandReply {
        let batch = machine.appliedStores()
        let matched = batch.map(machine.matched(with:)) ?? matched
        let told = form.map {
            CommandReply.Told(
                machine.appliedChanges($0, room: host.replyRoom, seenBy: caller.grants),
                atMost: host.replyRoom)
        }
        let writes = machine.seenWrites(by: caller.grants, without: batch)
        let stores = writes == nil ? nil : seen(batch, by: caller)
        if let batch { machine.give(batch, to: host.session) }
        let reports = batch.map { self.reports(of: $0, by: caller.principal) } ?? []
        host.commit(
            by: caller.principal, actions: !machine.plan.actions.isEmpty, key: key,
            batch.map { CommitDetails($0) })
        for report in reports { host.report(report) }
        var reply = remember(key, .outcome, matched: matched, changed: machine.changed)
        if machine.hasReturned { reply.returned = machine.returned(seenBy: caller.grants) }
        reply.told = told
        reply.seen = writes.map {
            .init(
                matched: stores?.matched ?? $0.count,
                changed: machine.changed(of: $0, seenBy: caller.grants) + (stores?.changed ?? 0))
        }
        return reply
    }

    /// How many of the plan's stores the caller sees, and how many of those that a batch creates or drops; nil if it sees all
    /// stores that the plan reaches.
    private func seen(_ batch: BatchStores?, by caller: Caller) -> (matched: Int, changed: Int)? {
        guard let writes = machine.seenWrites(by: caller.grants, without: batch), let grants = caller.grants
        else { return nil }
        let stores = batch.map { machine.seen($0, by: grants) } ?? (matched: 0, changed: 0)
        return (writes.count + stores.matched, stores.changed)
    }

    /// Whether a client that repeats a dispatch may know what it did: only where it sees all that the dispatch names.
    private func maySeeOutcome(_ batch: [BatchStep]?, _ grants: Grants?) -> Bool {
        guard let grants, !grants.readsEverything else { return true }
        if let batch { return batch.allSatisfy { sees($0, grants) } }
        machine.plan.clear()
        defer { machine.plan.clear() }
        guard (try? machine.planDispatch(request)) != nil else { return false }
        return machine.plan.steps.elements.allSatisfy { step in
            if step.store < 0 { return grants.showsAll(ofType: step.type.name) }
            if case .whole = machine.visibility(of: step.store, to: grants) { return true }
            return false
        }
    }

    /// Sets a timer: the dispatch is checked now, and committed when it is due.
    private func schedule(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        let isDryRun = try request.flag(.dryRun, default: false)
        let wanted = try machine.requestedPrecondition(in: request)
        let name = try machine.requestedTimer(in: request)
        if isEarlier { try requireOneAction() }
        let due = try machine.requestedTime(in: request)
        if !isEarlier { try requireOneAction() }
        let key = try machine.keyed(request, by: caller.principal)
        if !isDryRun, var earlier = try earlier(key) {
            // Where others have the number of changed stores, it has the time.
            (earlier.timer, earlier.due) = (name ?? "@\(earlier.revision)", earlier.changed)
            return earlier
        }
        // Not before: a request that is sent again may come late.
        try machine.requireToCome(due)
        if !isDryRun { guard try host.admit(.commit) else { return nil } }
        machine.plan.clear()
        try machine.planDispatch(request, where: wanted, seenBy: caller.grants)
        try machine.requireNothingRedacted()
        // What the rules ask has to hold now, and again when it is due; what the caller wants, now.
        if let grants = caller.grants { try machine.addConditions(grants) }
        try machine.requireCare(by: caller.principal)
        let timer = machine.timer(for: request, named: name, due: due, by: caller.principal)
        machine.plan.clear()
        try requireReplaceable(timer.name, of: timer.owner, by: caller)
        if isDryRun {
            var reply = CommandReply(revision: machine.revision)
            (reply.timer, reply.due) = (name, timer.due)
            return reply
        }
        guard try host.admit(.timer(timer)) else { return nil }
        try machine.set(timer)
        let details = CommitDetails()
        details.timer = .scheduled(timer)
        host.commit(by: caller.principal, actions: false, key: key, details)
        var reply = remember(key, matched: 0, changed: timer.due)
        (reply.timer, reply.due) = (timer.name, timer.due)
        return reply
    }

    private func requireOneAction() throws(RequestError) {
        guard !request.present.contains(.actions) else {
            throw .invalid(
                "actions", "A timer has one action: schedule each of the `actions` by a dispatch of its own.")
        }
    }
}
