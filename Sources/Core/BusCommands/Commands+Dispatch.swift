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
        guard try host.admit(.proposal(isLater ? .timer : .events)) else { return nil }
        var reply = isLater ? try schedule(by: caller, host) : try dispatchNow(by: caller, host)
        if isLater, try request.flag(.dryRun, default: false) { isAcknowledged = true }
        reply?.isAcknowledged = isAcknowledged
        return reply
    }

    private func dispatchNow(
        by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> CommandReply? {
        let isDryRun = try request.flag(.dryRun, default: false)
        guard !request.present.contains(.timer) else {
            throw .invalid("timer", "`timer` names a dispatch that comes later; say when with `in` or `at`.")
        }
        let expected = try request.integer(.ifRevision)
        let key = try machine.keyed(request, by: caller.principal)
        if !isDryRun {
            if var earlier = try earlier(key, .outcome) {
                if !maySeeOutcome(caller.grants) { earlier.seen = .init(matched: 0, changed: 0) }
                return earlier
            }
            guard try host.admit(.commit) else { return nil }
        }
        machine.plan.clear()
        try machine.planDispatch(request, expecting: expected, seenBy: caller.grants)
        guard try host.admit(.plan(isDryRun: isDryRun)) else { return nil }
        if let grants = caller.grants { try machine.addConditions(grants) }
        try machine.requireBudget()
        let matched = try host.apply(by: caller.principal, spending: .max)
        let seen = machine.seenWrites(by: caller.grants)
        if isDryRun {
            var reply = CommandReply(revision: machine.revision)
            (reply.matched, reply.isRehearsal) = (seen?.count ?? matched, true)
            return reply
        }
        host.commit(by: caller.principal, actions: true, key: key, nil)
        var reply = remember(key, .outcome, matched: matched, changed: machine.changed)
        reply.seen = seen.map {
            .init(matched: $0.count, changed: machine.changed(of: $0, seenBy: caller.grants))
        }
        return reply
    }

    /// Whether a client that repeats a dispatch may know what it did: only where it sees all that the dispatch names.
    private func maySeeOutcome(_ grants: Grants?) -> Bool {
        guard let grants, !grants.readsEverything else { return true }
        machine.plan.clear()
        defer { machine.plan.clear() }
        guard (try? machine.planDispatch(request, expecting: nil)) != nil else { return false }
        return machine.plan.steps.elements.allSatisfy { step in
            if step.store < 0 { return grants.showsAll(ofType: step.type.name) }
            if case .whole = machine.visibility(of: step.store, to: grants) { return true }
            return false
        }
    }

    /// Sets a timer: the dispatch is checked now, and committed when it is due.
    private func schedule(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        let isDryRun = try request.flag(.dryRun, default: false)
        let expected = try request.integer(.ifRevision)
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
        try machine.planDispatch(request, expecting: expected, seenBy: caller.grants)
        if let grants = caller.grants {
            // They have to hold now, and again when it is due.
            try machine.addConditions(grants)
            if !machine.plan.conditions.isEmpty {
                defer { machine.plan.liftConditions() }
                try machine.requireConditions(by: caller.principal)
            }
        }
        let timer = machine.timer(for: request, named: name, due: due, by: caller.principal)
        machine.plan.clear()
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
