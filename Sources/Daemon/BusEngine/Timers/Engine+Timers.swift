import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Dispatches that are to be carried out later: scheduled, listed and cancelled.
extension Engine {
    // MARK: Scheduling

    /// Schedules the dispatch of the request: it is checked now, and committed when it is due.
    func schedule(_ connection: Connection) throws(RequestError) {
        let grants = connection.grants
        if let grants { try authorizeDispatch(grants) }
        let isDryRun = try request.flag(.dryRun, default: false)
        let isAcknowledged = try request.flag(.ack, default: true)
        let expected = try request.integer(.ifRevision)
        let name = try machine.requestedTimer(in: request)
        let due = try machine.requestedTime(in: request)
        guard !request.present.contains(.actions) else {
            throw .invalid(
                "actions", "A timer has one action: schedule each of the `actions` by a dispatch of its own.")
        }
        let principal = connection.principal!
        let key = try machine.keyed(request, by: principal)
        if !isDryRun, let key, let earlier = try duplicate(of: key) {
            guard isAcknowledged else {
                return log.noteUnacknowledged(connection, committedAt: earlier.revision, id: request.id)
            }
            // Where others have the number of changed stores, it has the time.
            return answerSchedule(
                connection, revision: earlier.revision, name ?? "@\(earlier.revision)", due: earlier.changed,
                isDuplicate: true)
        }
        // Not before: a request that is sent again may come late.
        try machine.requireToCome(due)
        if !isDryRun { try admission.requireCommits() }
        machine.plan.clear()
        defer { machine.plan.clear() }
        try planDispatch(expecting: expected, seenBy: grants)
        if let grants { try requireNow(grants, by: principal) }
        let timer = machine.timer(for: request, named: name, due: due, by: principal)
        machine.plan.clear()
        if isDryRun {
            return answerSchedule(connection, revision: machine.revision, name, due: timer.due)
        }
        try admission.requireMemory(for: BusLimits.timerOverhead + currentLine.count)
        if machine.timer(timer.name, of: timer.owner) == nil {
            try shares.requireTimer(connection.user)
        }
        try machine.set(timer)
        let details = CommitDetails()
        details.timer = .scheduled(timer)
        commit(by: principal, actions: false, key: key, details)
        if let key { machine.remember(key, matched: 0, changed: timer.due) }
        guard isAcknowledged else {
            return log.noteUnacknowledged(connection, committedAt: machine.revision, id: request.id)
        }
        answerSchedule(connection, revision: machine.revision, timer.name, due: timer.due)
    }

    private func answerSchedule(
        _ connection: Connection, revision: Int, _ name: String?, due: Int, isDuplicate: Bool = false
    ) {
        answer(connection) { writer in
            writer.append(revision: revision)
            if let name {
                writer.append(",\"timer\":")
                writer.append(quoted: name)
            }
            writer.append(",\"due\":")
            writer.append(json: DurationText.seconds(due))
            if isDuplicate { writer.appendDuplicate() }
        }
    }

    // MARK: Cancelling

    /// Takes a timer away, as a commit.
    func cancel(_ connection: Connection) throws(RequestError) {
        guard let name = try request.string(.timer) else {
            throw .invalid("timer", "Say in `timer` which timer to cancel; timers lists them.")
        }
        let isStore = request.present.contains(.store)
        guard isStore != request.present.contains(.type) else {
            throw .target(isGivenTwice: isStore)
        }
        let principal = connection.principal!
        let key = try machine.keyed(request, by: principal)
        if let key, let earlier = try duplicate(of: key) {
            return answer(connection) { writer in
                writer.append(revision: earlier.revision)
                writer.appendDuplicate()
            }
        }
        try requireOwnTimer(name, connection.grants, by: principal)
        let owner: TimerOwner
        if isStore {
            owner = .store(try machine.requireStore(request.store).1)
        } else if request.type.elementsEqual("*".utf8) {
            owner = .type("*")
        } else {
            owner = .type(try machine.requireType(request.type).name)
        }
        try admission.requireCommits()
        machine.plan.clear()
        guard machine.takeTimer(name, of: owner) else {
            throw RequestError(
                .unknownTimer,
                "\(machine.name(of: owner)) has no timer `\(name.shortened(to: 80))`: it has fired, or was never set; timers lists what there is."
            )
        }
        let details = CommitDetails()
        details.timer = .cancelled(owner: machine.name(of: owner), isStore: isStore, name: name)
        commit(by: principal, actions: false, key: key, details)
        if let key { machine.remember(key, matched: 0, changed: 0) }
        answer(connection) { $0.append(revision: machine.revision) }
    }

    /// Under access rules a timer is cancelled by who asked for it, or by who manages the bus.
    private func requireOwnTimer(
        _ name: String, _ grants: Grants?, by principal: Principal
    ) throws(RequestError) {
        guard let grants, !grants.mayManage else { return }
        let isStore = request.present.contains(.store)
        let target = String(decoding: isStore ? request.store : request.type, as: UTF8.self)
        let owner = isStore ? machine.find(target).map { TimerOwner.store($0) } : .type(target)
        guard let owner, let timer = machine.timer(name, of: owner), isOwn(timer, principal) else {
            throw RequestError(
                .forbidden,
                "The access rules let you cancel the timers that you have set, and \(target.shortened(to: 200)) has none of yours with this name."
            )
        }
    }

    private func isOwn(_ timer: BusTimer, _ principal: Principal) -> Bool {
        if case .action(_, _, let asker) = timer.purpose {
            asker.identity == principal.identity
        } else {
            false
        }
    }

    /// Whether a timer is listed for a client.
    private func shows(_ timer: BusTimer, to grants: Grants?, _ principal: Principal) -> Bool {
        guard let grants, !grants.knowsEverything, !isOwn(timer, principal) else { return true }
        switch timer.owner {
        case .store(let index):
            let record = machine.stores.pointer(index)
            return grants.knowsHistory(
                of: record.pointee.name, ofType: machine.types[Int(record.pointee.type)].name)
        case .type(let name): return name != "*" && grants.knowsHistory(ofAll: name)
        }
    }

    // MARK: Listing

    /// Lists timers in the order in which they are due.
    func listTimers(_ connection: Connection) throws(RequestError) {
        let pattern = try requestedPattern(required: false) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? DaemonLimits.timersListed
        guard limit <= DaemonLimits.timersListed else {
            throw .invalid(
                "limit",
                "A reply lists at most \(DaemonLimits.timersListed) timers; ask for more with `after`.")
        }
        let after = try request.string(.after)
        let (principal, grants) = (connection.principal!, connection.grants)
        guard
            let list = TimerList(
                machine, pattern, after: after, limit: limit,
                where: { [unowned self] in shows($0, to: grants, principal) })
        else {
            throw .invalid("after", "`after` must be the `next` of a reply to timers.")
        }
        try read(list, connection)
    }
}
