import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Timers are cancelled, and fire when they are due.
extension Commands {
    func cancel(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        guard let name = try request.string(.timer) else {
            throw .invalid("timer", "Say in `timer` which timer to cancel; timers lists them.")
        }
        let isStore = request.present.contains(.store)
        guard isStore != request.present.contains(.type) else {
            throw .target(isGivenTwice: isStore)
        }
        guard try host.admit(.proposal()) else { return nil }
        let key = try machine.keyed(request, by: caller.principal)
        if let earlier = try earlier(key) { return earlier }
        if !isEarlier { try requireOwnTimer(name, by: caller) }
        let owner: TimerOwner
        if isStore {
            owner = .store(try machine.requireStore(request.store).1)
        } else if request.type.elementsEqual("*".utf8) {
            owner = .type("*")
        } else {
            owner = .type(try machine.requireType(request.type).name)
        }
        if isEarlier { try requireOwnTimer(name, of: owner, by: caller) }
        guard try host.admit(.commit) else { return nil }
        machine.plan.clear()
        guard machine.takeTimer(name, of: owner) else {
            throw RequestError(
                .unknownTimer,
                "\(machine.name(of: owner)) has no timer `\(name.shortened(to: 80))`: it has fired, or was never set; timers lists what there is."
            )
        }
        let details = CommitDetails()
        details.timer = .cancelled(owner: machine.name(of: owner), isStore: isStore, name: name)
        host.commit(by: caller.principal, actions: false, key: key, details)
        return remember(key, matched: 0, changed: 0)
    }

    /// Under access rules a client may cancel those of its own timers that it is shown, and whoever manages the bus may cancel
    /// any. A refusal does not tell whether the store exists.
    private func requireOwnTimer(_ name: String, by caller: Caller) throws(RequestError) {
        guard let grants = caller.grants, !grants.mayManage else { return }
        let isStore = request.present.contains(.store)
        let target = String(decoding: isStore ? request.store : request.type, as: UTF8.self)
        let owner = isStore ? machine.find(target).map { TimerOwner.store($0) } : .type(target)
        guard let owner, let timer = machine.timer(name, of: owner), timer.isAsked(by: caller.principal),
            machine.rules < BusLimits.rulesOfCopies
                || machine.shows(timer, to: caller.principal, grants)
        else {
            throw RequestError(
                .forbidden,
                "The access rules let you cancel the timers that you have set, and \(target.shortened(to: 200)) has none of yours with this name."
            )
        }
    }

    /// Under access rules a timer that somebody else has set gives way to who might dispatch its action now, too, with its
    /// payload.
    func requireReplaceable(
        _ name: String, of owner: TimerOwner, by caller: Caller
    ) throws(RequestError) {
        guard machine.rules >= BusLimits.rulesOfPrices, let grants = caller.grants, !grants.mayManage,
            let timer = machine.timer(name, of: owner), !timer.isAsked(by: caller.principal),
            case .action = timer.purpose
        else { return }
        defer { machine.plan.clear() }
        do throws(RequestError) {
            try machine.plan(timer)
            try machine.addConditions(grants)
            try machine.requireCare(by: caller.principal)
        } catch {
            throw RequestError(
                .forbidden,
                "\(machine.name(of: owner)) has a timer `\(name.shortened(to: 80))` with an action that you may not dispatch; set yours by another name."
            )
        }
    }

    /// As rules before `rulesOfOneMeaning` had it: behind the look for the store.
    private func requireOwnTimer(
        _ name: String, of owner: TimerOwner, by caller: Caller
    ) throws(RequestError) {
        guard let grants = caller.grants, !grants.mayManage else { return }
        if machine.timer(name, of: owner)?.isAsked(by: caller.principal) == true { return }
        throw Self.forbidden("cancel a timer of", machine.name(of: owner))
    }

    // MARK: - Firing

    /// Fires a timer that is due, or ends a lease. False: it waits for its turn, and nothing has been done.
    ///
    /// - Parameter grants: What the rules let the caller of the timer do now.
    package func fire(
        _ timer: BusTimer, grants: (Principal) -> Grants?, _ host: any CommandHost
    ) -> Bool {
        guard case .action(let action, _, let asker) = timer.purpose else {
            endLease(timer, host)
            return true
        }
        let plan = Result { () throws(RequestError) in try machine.plan(timer) }
        defer { machine.plan.clear() }
        guard (try? host.admit(.firing)) == true else { return false }
        let principal = asker.firing(timer.name)
        let details = CommitDetails()
        machine.take(timer)
        // Before its action, which may take it away or set it otherwise.
        machine.setAgain(timer)
        details.timer = .fired(timer)
        do throws(RequestError) {
            try plan.get()
            if let grants = grants(asker) { try machine.addConditions(grants) }
            try machine.requireBudget()
            _ = try host.apply(by: principal, spending: .max)
            host.commit(by: principal, actions: true, key: nil, details)
        } catch {
            // What was rolled back is the removal of the timer, too.
            if timer.isSet {
                machine.take(timer)
                machine.setAgain(timer)
            }
            machine.plan.clear()
            host.commit(by: principal, actions: false, key: nil, details)
            host.report(.timerRejected(timer, action: action, by: asker, error))
        }
        return true
    }

    private func endLease(_ timer: BusTimer, _ host: any CommandHost) {
        guard case .store(let store) = timer.owner, case .lease(let length) = timer.purpose else {
            preconditionFailure("A lease is a store's.")
        }
        let address = machine.address(of: Int(store))
        machine.plan.clear()
        let details = CommitDetails()
        details.dropped = [store]
        host.commit(by: .daemon, actions: false, key: nil, details)
        host.report(.expired(address, after: length))
    }
}

extension BusTimer {
    /// Whether a principal has set it.
    package func isAsked(by principal: Principal) -> Bool {
        if case .action(_, _, let asker) = purpose { asker.identity == principal.identity } else { false }
    }
}

extension StateMachine {
    /// Whether a timer is shown to a client under access rules: its own request has set it, or the client may know the history of
    /// its store or type. One that an action or a type has set for the client may come from a hidden state, so on a store it is
    /// shown only to a client that may read the whole store.
    package func shows(_ timer: BusTimer, to principal: Principal, _ grants: Grants) -> Bool {
        let isAsked = timer.isAsked(by: principal)
        if isAsked, timer.isRequested { return true }
        switch timer.owner {
        case .store(let index):
            let record = stores.pointer(index)
            let (name, type) = (record.pointee.name, types[Int(record.pointee.type)].name)
            return grants.knowsHistory(of: name, ofType: type)
                || isAsked && grants.showsWhole(name, ofType: type)
        case .type("*"): return isAsked || grants.knowsEverything
        case .type(let name): return isAsked || grants.knowsHistory(ofAll: name)
        }
    }
}
