import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Commands on a bus of one machine: executed at once, and answered.
extension Engine {
    func caller(of connection: Connection) -> Caller {
        let principal = connection.access.principal!
        return Caller(
            principal, isOperator: admission.isOperator(principal), grants: connection.access.grants)
    }

    /// Executes the present request, and answers it. One that has to wait for its turn is kept.
    func run(_ command: Operation.Command, _ connection: Connection) throws(RequestError) {
        let host = local.here(for: connection)
        defer { finish(host) }
        // Between entries, the time of a shared bus is that of the last one: a dry run has the time that an entry would have now.
        let time = machine.time
        if shared.isOn { machine.advance(to: clock.now) }
        defer { if shared.isOn { machine.turnBack(to: time) } }
        guard let reply = try commands.execute(command, by: caller(of: connection), host) else { return }
        if reply.isRehearsal { return try answerDryRun(connection, reply.matched) }
        if !reply.isAcknowledged {
            log.noteUnacknowledged(connection, committedAt: reply.revision, id: request.id)
        }
        answer(reply, request.id, connection)
    }

    /// What was planned or computed for a command costs work, also where it came to nothing.
    private func finish(_ host: LocalHost) {
        if request.present.contains(.actions) {
            clock.work += Work.batchAction * machine.plan.actions.count
        }
        if host.isCreating, let connection = host.connection {
            let work = Work.operation * machine.operationsOfCreation
            connection.turn.note(creation: work)
            clock.work += work
        }
        machine.plan.clear()
    }
}

/// Runs commands in an engine of its own, for a connection or for the daemon itself.
final class LocalHost: CommandHost {
    private unowned let engine: Engine
    /// The connection whose request is executed; nil: timers, and sessions that end.
    private(set) var connection: Connection?
    /// The present command has begun to make a store.
    private(set) var isCreating = false
    /// What the will that was read counts as.
    private(set) var willBytes: Int?
    /// The bus is shared: the command is taken as far as this member can tell what comes of it.
    private(set) var isProposing = false
    /// What is proposed ends with its client.
    private(set) var leavesSession = false
    /// How many stores the last dispatch reached.
    private var matched = 0

    init(_ engine: Engine) { self.engine = engine }

    /// The host of the next command.
    func here(for connection: Connection?, isProposing: Bool = false) -> LocalHost {
        (self.connection, self.isProposing) = (connection, isProposing)
        (isCreating, willBytes, leavesSession) = (false, nil, false)
        return self
    }

    var openSession: Session? { connection?.hold.session }

    func session() -> Session { engine.session(of: connection!) }

    func admit(_ stage: CommandStage) throws(RequestError) -> Bool {
        let admission = engine.admission
        switch stage {
        case .proposal(let claim):
            if isProposing { try admit(claim) }
            return !isProposing
        case .commit: try admission.requireCommits()
        case .plan(let isDryRun): return try admitPlan(isDryRun: isDryRun)
        case .creation:
            let connection = connection!
            try admission.requireCommits()
            try engine.shares.requireStore(engine.users.user(connection.access.principal!.identity))
            if engine.mustWait(for: connection.turn.workOfCreation, connection, engine.currentLine) {
                return false
            }
            isCreating = true
        case .state(let bytes): try admission.requireMemory(for: bytes)
        case .timer(let timer):
            try admission.requireMemory(for: BusLimits.timerOverhead + engine.currentLine.count)
            if engine.machine.timer(timer.name, of: timer.owner) == nil {
                try engine.shares.requireTimer(connection!.user)
            }
        case .will(let count):
            let cost = Work.read + Work.willAction * count
            if engine.mustWait(for: cost, connection!, engine.currentLine) { return false }
            engine.clock.work += cost
        case .readWill(let actions):
            willBytes = try admission.requireMemory(forWill: actions, of: connection!)
            try admission.requireCommits()
        case .firing:
            if engine.plannedWork() >= DaemonLimits.longRequest, engine.scheduler.isGateClosed(to: -1) {
                return false
            }
            engine.clock.work += Work.request + Work.batchAction
        }
        return true
    }

    /// Whether there is room here for what is proposed. What depends on states is for all members to say.
    private func admit(_ claim: Claim) throws(RequestError) {
        let (connection, admission) = (connection!, engine.admission)
        switch claim {
        case .none: break
        case .events: try requireEventRoom()
        case .timer:
            try requireEventRoom()
            try engine.shares.requireTimer(connection.user)
        case .store:
            try engine.shares.requireStore(connection.user)
            try admission.requireMemory(for: engine.currentLine.count)
            leavesSession = try engine.request.flag(.ephemeral, default: false)
        case .will(let actions):
            try engine.commands.authorize(actions, connection.access.grants)
            willBytes = try admission.requireMemory(forWill: actions, of: connection)
            leavesSession = true
        }
    }

    /// Whether the actions can be told to subscribers does not depend on states, where they can be planned at all.
    private func requireEventRoom() throws(RequestError) {
        if !engine.isLineLong { return }
        engine.machine.plan.clear()
        defer { engine.machine.plan.clear() }
        guard (try? engine.machine.planDispatch(engine.request, expecting: nil)) != nil else { return }
        try engine.admission.requireEventRoom()
    }

    private func admitPlan(isDryRun: Bool) throws(RequestError) -> Bool {
        if engine.isLineLong { try engine.admission.requireEventRoom() }
        guard engine.machine.isPlanWide || engine.knowsExpensive else { return true }
        return try !engine.mustWaitForPlan(connection!, isDryRun: isDryRun)
    }

    func apply(by principal: Principal, spending operations: Int) throws(RequestError) -> Int {
        matched = try engine.apply(by: principal, for: connection, spending: operations)
        return matched
    }

    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        engine.commit(by: principal, actions: actions, key: key, details)
        if actions, engine.reportsCommits, let connection {
            engine.reportCommit(by: connection, matched: matched)
        }
    }

    func note(_ session: Session) {
        engine.log.appendWill(of: session, engine.machine)
        if let connection, let willBytes { engine.connections.countWill(willBytes, of: connection) }
    }
    func note(endOf session: SessionID) { engine.log.appendEnd(of: session, engine.machine) }
    func report(_ report: CommandReport) { engine.report(report) }
}
