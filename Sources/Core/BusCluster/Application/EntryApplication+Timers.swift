import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Dispatches that come later: set, cancelled, and carried out when the time of the bus has come.
extension EntryApplication {
    func schedule(by principal: Principal) throws(RequestError) -> EntryReply {
        let expected = try request.integer(.ifRevision)
        let name = try machine.requestedTimer(in: request)
        guard !request.present.contains(.actions) else {
            throw .invalid(
                "actions", "A timer has one action: schedule each of the `actions` by a dispatch of its own.")
        }
        let due = try machine.requestedTime(in: request)
        let key = try machine.keyed(request, by: principal)
        if var earlier = try earlier(key) {
            // Where others have the number of changed stores, it has the time.
            (earlier.timer, earlier.due) = (name ?? "@\(earlier.revision)", earlier.changed)
            return earlier
        }
        try machine.requireToCome(due)
        machine.plan.clear()
        let grants = grants(of: principal)
        try machine.planDispatch(request, expecting: expected, seenBy: grants)
        if let grants {
            try machine.addConditions(grants)
            if !machine.plan.conditions.isEmpty {
                defer { machine.plan.liftConditions() }
                try machine.requireConditions(by: principal)
            }
        }
        let timer = machine.timer(for: request, named: name, due: due, by: principal)
        machine.plan.clear()
        try machine.set(timer)
        let details = CommitDetails()
        details.timer = .scheduled(timer)
        sink.commit(by: principal, actions: false, key: key, details)
        var reply = remember(key, matched: 0, changed: timer.due)
        (reply.timer, reply.due) = (timer.name, timer.due)
        return reply
    }

    func cancel(by principal: Principal) throws(RequestError) -> EntryReply {
        guard let name = try request.string(.timer) else {
            throw .invalid("timer", "Say in `timer` which timer to cancel; timers lists them.")
        }
        let isStore = request.present.contains(.store)
        guard isStore != request.present.contains(.type) else {
            throw .target(isGivenTwice: isStore)
        }
        let key = try machine.keyed(request, by: principal)
        if let earlier = try earlier(key) { return earlier }
        let owner: TimerOwner
        if isStore {
            owner = .store(try machine.requireStore(request.store).1)
        } else if request.type.elementsEqual("*".utf8) {
            owner = .type("*")
        } else {
            owner = .type(try machine.requireType(request.type).name)
        }
        try requireOwn(name, owner, by: principal)
        machine.plan.clear()
        guard machine.takeTimer(name, of: owner) else {
            throw RequestError(
                .unknownTimer,
                "\(machine.name(of: owner)) has no timer `\(name.shortened(to: 80))`: it has fired, or was never set; timers lists what there is."
            )
        }
        let details = CommitDetails()
        details.timer = .cancelled(owner: machine.name(of: owner), isStore: isStore, name: name)
        sink.commit(by: principal, actions: false, key: key, details)
        return remember(key, matched: 0, changed: 0)
    }

    /// Under access rules a timer is cancelled by who asked for it, or by who manages the bus.
    private func requireOwn(
        _ name: String, _ owner: TimerOwner, by principal: Principal
    ) throws(RequestError) {
        guard let grants = grants(of: principal), !grants.mayManage else { return }
        if case .action(_, _, let asker)? = machine.timer(name, of: owner)?.purpose,
            asker.identity == principal.identity
        {
            return
        }
        throw Self.forbidden("cancel a timer of", machine.name(of: owner))
    }

    // MARK: - Firing

    /// Fires the first timer that is due, or ends the first lease; false where none is.
    func fireFirstDue() -> Bool {
        while machine.nextDue <= machine.time {
            // The time of the next one may have been too early.
            guard let timer = machine.firstDue() else { continue }
            fire(timer)
            return true
        }
        return false
    }

    private func fire(_ timer: BusTimer) {
        let details = CommitDetails()
        guard case .action(_, _, let asker) = timer.purpose else {
            guard case .store(let store) = timer.owner else {
                preconditionFailure("A lease is a store's.")
            }
            machine.plan.clear()
            details.dropped = [store]
            return sink.commit(by: .daemon, actions: false, key: nil, details)
        }
        let plan = Result { () throws(RequestError) in try machine.plan(timer) }
        let principal = asker.firing(timer.name)
        machine.take(timer)
        details.timer = .fired(timer)
        do throws(RequestError) {
            try plan.get()
            if let grants = grants(of: asker) { try machine.addConditions(grants) }
            try machine.requireBudget(machine.limits.commit)
            _ = try machine.apply(by: principal)
            sink.commit(by: principal, actions: true, key: nil, details)
        } catch {
            // What was rolled back is the removal of the timer, too.
            if timer.isSet { machine.take(timer) }
            machine.plan.clear()
            sink.commit(by: principal, actions: false, key: nil, details)
        }
        machine.plan.clear()
    }
}
