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
    func run(_ operation: Operation, _ connection: Connection) throws(RequestError) {
        let host = local.here(for: connection)
        defer { finish(operation, host) }
        // Between entries, the time of a shared bus is that of the last one: a dry run has the time that an entry would have now.
        let time = machine.time
        if shared.isOn { machine.advance(to: clock.now) }
        defer { if shared.isOn { machine.turnBack(to: time) } }
        guard let reply = try commands.execute(operation, by: caller(of: connection), host) else { return }
        let isAcknowledged = operation == .dispatch ? try request.flag(.ack, default: true) : true
        if reply.isRehearsal { return try answerDryRun(connection, reply.matched) }
        let kind: PendingEntry.Kind
        switch operation {
        case .dispatch where reply.due != nil:
            let isDryRun = try request.flag(.dryRun, default: false)
            kind = .schedule(isAcknowledged: isAcknowledged || isDryRun)
        case .dispatch:
            connection.input.noteDispatch()
            if reportsCommits, !reply.isDuplicate { reportCommit(by: connection, matched: reply.matched) }
            kind = .dispatch(
                isAcknowledged: isAcknowledged,
                seesOutcome: !reply.isDuplicate || maySeeOutcome(connection.access.grants))
        case .create: kind = .create
        case .will:
            if connection.hold.session != nil { connections.countWill(host.willBytes, of: connection) }
            kind = .will
        case .drop, .cancel: kind = .commit
        // No commands: `Commands` has refused them.
        case .ping, .get, .hello, .stores, .types, .subscribe, .unsubscribe, .sync, .history, .revert, .stats,
            .reload, .timers, .cluster, .clients, .kick:
            kind = .commit
        }
        if !isAcknowledged { log.noteUnacknowledged(connection, committedAt: reply.revision, id: request.id) }
        answer(kind, reply, request.id, connection)
    }

    /// What was planned or computed for a command costs work, also where it came to nothing.
    private func finish(_ operation: Operation, _ host: LocalHost) {
        if operation == .dispatch, request.present.contains(.actions) {
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
    private(set) var willBytes = 0

    init(_ engine: Engine) { self.engine = engine }

    /// The host of the next command.
    func here(for connection: Connection?) -> LocalHost {
        (self.connection, isCreating, willBytes) = (connection, false, 0)
        return self
    }

    var openSession: Session? { connection?.hold.session }

    func session() -> Session { engine.session(of: connection!) }

    func admit(_ stage: CommandStage) throws(RequestError) -> Bool {
        let admission = engine.admission
        switch stage {
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

    private func admitPlan(isDryRun: Bool) throws(RequestError) -> Bool {
        if engine.isLineLong { try engine.admission.requireEventRoom() }
        guard engine.machine.isPlanWide || engine.knowsExpensive else { return true }
        return try !engine.mustWaitForPlan(connection!, isDryRun: isDryRun)
    }

    func apply(by principal: Principal, spending operations: Int) throws(RequestError) -> Int {
        try engine.apply(by: principal, for: connection, spending: operations)
    }

    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        engine.commit(by: principal, actions: actions, key: key, details)
    }

    func note(_ session: Session) { engine.log.appendWill(of: session, engine.machine) }
    func note(endOf session: SessionID) { engine.log.appendEnd(of: session, engine.machine) }
    func report(_ report: CommandReport) { engine.report(report) }
}
