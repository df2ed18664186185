import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Entries as commands: a replica has nothing to refuse that other members would not refuse.
extension Replica {
    /// Executes the request of an entry.
    func execute(
        _ line: [UInt8], of key: SessionKey, by caller: Caller
    ) throws(RequestError) -> CommandReply {
        try read(line) { () throws(RequestError) in
            guard case .command(let command) = try commands.request.operation() else {
                throw RequestError(
                    .unknownOp,
                    "This request changes nothing on the bus; ask the member that you are connected to.")
            }
            if try commands.request.flag(.dryRun, default: false) {
                throw .invalid("dryRun", "A dry run commits nothing, so it is no entry of the log.")
            }
            return try commands.execute(command, by: caller, host(of: key, caller.principal))
        }
    }

    /// Reverts a store to a state that the origin has found in its history: see `PastState`.
    func revert(
        _ line: [UInt8], to past: [UInt8], by caller: Caller
    ) throws(RequestError) -> CommandReply {
        try read(line) { () throws(RequestError) in
            let request = commands.request
            guard try request.operation() == .local(.revert), request.present.contains(.store),
                let revision = try request.integer(.revision)
            else { throw .invalid("revision", "Say in `store` and `revision` what to revert to.") }
            let wanted = try machine.requestedPrecondition(in: request)
            guard let found = try? JSON(parsing: past), let old = PastState(found) else {
                throw RequestError(.internal, "The state of revision \(revision) can't be read; ask again.")
            }
            return try commands.revert(
                String(decoding: request.store, as: UTF8.self), to: revision, old, where: wanted,
                by: caller, host(of: nil, caller.principal))
        }
    }

    private func read(
        _ line: [UInt8], _ body: () throws(RequestError) -> CommandReply?
    ) throws(RequestError) -> CommandReply {
        defer { machine.plan.clear() }
        return try counting { () throws(RequestError) in
            try line.span.withUnsafeBytes { (line) throws(RequestError) in
                try commands.request.read(line, from: &memory)
                guard let reply = try body() else { preconditionFailure("A replica postpones nothing.") }
                return reply
            }
        }
    }

    /// Counts what is evaluated beside what is applied, as conditions, new states and views are.
    private func counting<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let before = machine.operationsBeside
        defer {
            if machine.rules >= BusLimits.rulesOfPrices { spent &+= machine.operationsBeside &- before }
        }
        return try body()
    }

    private func host(of key: SessionKey?, _ principal: Principal?) -> EntryHost {
        EntryHost(replica: self, key: key, principal: principal)
    }

    // MARK: - What the time brings

    /// Fires the first timer that is due, or ends the first lease; false where none is.
    func fireFirstDue() -> Bool {
        while machine.nextDue <= machine.time {
            // The time of the next one may have been too early.
            guard let timer = machine.firstDue() else { continue }
            _ = counting { commands.fire(timer, grants: grants, host(of: nil, nil)) }
            return true
        }
        return false
    }

    func end(_ session: Session) {
        counting { commands.end(session, grants: grants(of: session.principal), host(of: nil, nil)) }
    }

    // MARK: - Who may

    /// What a principal may do under the rules of the bus; nil where there are none, and for daemons.
    func grants(of principal: Principal) -> Grants? {
        guard let rules = machine.access, principal.identity != nil else { return nil }
        if rules !== knownRules { (knownRules, knownGrants) = (rules, [:]) }
        let roles = principal.asker.who["roles"]?.array?.compactMap(\.string) ?? []
        if let known = knownGrants[roles] { return known }
        // Roles are as many as the rules name, but combinations come from members.
        if knownGrants.count > 1024 { knownGrants.removeAll() }
        let made = rules.grants(to: roles)
        knownGrants[roles] = made
        return made
    }
}

/// Where the commands of one entry run.
private struct EntryHost: CommandHost {
    let replica: Replica
    let key: SessionKey?
    let principal: Principal?

    var replyRoom: Int { BusLimits.told }
    var openSession: Session? {
        key.flatMap { replica.left(in: $0) }
    }

    func session() -> Session {
        guard let key, let principal else { preconditionFailure("This command has no session.") }
        return replica.session(key, of: principal)
    }

    func admit(_ stage: CommandStage) -> Bool {
        if case .creation = stage { replica.spent &+= ClusterLimits.operationsOfCreation }
        return true
    }

    func apply(by principal: Principal, spending operations: Int) throws(RequestError) -> Int {
        defer { replica.spent &+= replica.machine.operationsSpent }
        return try replica.machine.apply(by: principal, spending: operations)
    }

    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        replica.sink.commit(by: principal, actions: actions, key: key, details)
    }

    func note(_ session: Session) { replica.sink.note(session) }
    func note(endOf session: SessionID) { replica.sink.note(endOf: session) }
    func report(_ report: CommandReport) { replica.sink.report(report) }
}
