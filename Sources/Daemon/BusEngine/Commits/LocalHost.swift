import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Where commands run on this daemon: for a connection, or for the daemon itself. For a connection of a shared bus they run only
/// up to the proposal, which then goes to all members.
final class LocalHost: CommandHost {
    private let machine: StateMachine
    private let commands: Commands
    private let commits: LiveCommits
    private let admission: Admission
    private let shares: FairShares
    private let users: Users
    private let clock: TurnClock
    private let long: LongRequests
    private let log: LogGate
    private let connections: Connections
    private let outputs: Outputs

    /// The connection whose request is executed; nil: timers, and sessions that end.
    private(set) var connection: Connection?
    /// The line of that request.
    private var line = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The present command has begun to make a store.
    private(set) var isCreating = false
    /// What the will that was read counts as in memory.
    private(set) var willBytes: Int?
    /// The bus is shared: the command runs only as far as this member can tell its outcome.
    private var isProposing = false
    /// The proposed store or will ends with its client.
    private(set) var leavesSession = false
    /// How many stores the last dispatch reached.
    private var matched = 0
    /// `operationsBeside` of the machine when the present command began, and those that were counted since.
    private var operationsBefore = 0

    init(
        _ commands: Commands, _ commits: LiveCommits, _ admission: Admission, _ shares: FairShares,
        _ users: Users, _ clock: TurnClock, _ long: LongRequests, _ log: LogGate, _ connections: Connections,
        _ outputs: Outputs
    ) {
        machine = commands.machine
        self.commands = commands
        self.commits = commits
        self.admission = admission
        self.shares = shares
        self.users = users
        self.clock = clock
        self.long = long
        self.log = log
        self.connections = connections
        self.outputs = outputs
    }

    /// The host of the next command.
    func here(
        for connection: Connection?,
        _ line: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        isProposing: Bool = false
    ) -> LocalHost {
        (self.connection, self.line, self.isProposing) = (connection, line, isProposing)
        (isCreating, willBytes, leavesSession) = (false, nil, false)
        operationsBefore = machine.operationsBeside
        return self
    }

    var replyRoom: Int { connections.limits.line }
    var openSession: Session? { connection?.hold.session }

    /// The session of the connection, which is opened when it is first needed.
    func session() -> Session {
        guard let connection, let principal = connection.access.principal else {
            preconditionFailure("Only a client has a session.")
        }
        if let session = connection.hold.session { return session }
        let session = machine.openSession(principal)
        connection.hold.take(session)
        if let name = connection.hold.name {
            machine.name(session, name, linger: connection.hold.linger, principal)
        }
        return session
    }

    func admit(_ stage: CommandStage) throws(RequestError) -> Bool {
        switch stage {
        case .proposal(let claim):
            if isProposing { try admit(claim) }
            return !isProposing
        case .commit: try admission.requireCommits()
        case .plan(let isTold): return try admitPlan(isTold: isTold)
        case .creation:
            let connection = connection!
            try admission.requireCommits()
            try shares.requireStore(users.user(connection.access.principal!.identity))
            if long.mustWait(for: connection.turn.workOfState, connection, line) { return false }
            isCreating = true
        case .state(let bytes): try admission.requireMemory(for: bytes)
        case .timer(let timer):
            try admission.requireMemory(for: BusLimits.timerOverhead + line.count)
            if machine.timer(timer.name, of: timer.owner) == nil {
                try shares.requireTimer(connection!.user)
            }
        case .will(let count):
            let cost = Work.read + Work.willAction * count
            if long.mustWait(for: cost, connection!, line) { return false }
            clock.work += cost
        case .readWill(let actions):
            willBytes = try admission.requireMemory(forWill: actions, of: connection!)
            try admission.requireCommits()
        case .firing:
            if long.mustWaitAtGate(for: long.plannedWork()) { return false }
            clock.work += Work.request + Work.batchAction
        }
        return true
    }

    /// Checks whether this member has room for a proposal. Whatever depends on states is decided by all members.
    private func admit(_ claim: Claim) throws(RequestError) {
        let connection = connection!
        switch claim {
        case .none: break
        case .events: try requireEventRoom()
        case .timer:
            try admission.requireMemory(for: BusLimits.timerOverhead + line.count)
            try requireEventRoom()
            if try !replacesTimer() { try shares.requireTimer(connection.user) }
        case .store:
            try shares.requireStore(connection.user)
            try admission.requireMemory(for: line.count)
            leavesSession = try commands.request.flag(.ephemeral, default: false)
        case .stores(let count, let isEphemeral):
            if count > 0 { try shares.requireStores(count, connection.user) }
            try admission.requireMemory(for: line.count)
            if admission.isLong(line) { try admission.requireEventRoom(for: commands.request) }
            leavesSession = isEphemeral
        case .will(let actions):
            try commands.authorize(actions, connection.access.grants)
            willBytes = try admission.requireMemory(forWill: actions, of: connection)
            leavesSession = true
        }
    }

    /// Whether the proposed timer replaces another one, and so needs no further room.
    private func replacesTimer() throws(RequestError) -> Bool {
        let request = commands.request
        guard let name = try machine.requestedTimer(in: request) else { return false }
        let isStore = request.present.contains(.store)
        let target = String(decoding: isStore ? request.store : request.type, as: UTF8.self)
        let owner = isStore ? machine.find(target).map { TimerOwner.store($0) } : .type(target)
        return owner.flatMap { machine.timer(name, of: $0) } != nil
    }

    /// Whether the actions fit into events does not depend on states, if they can be planned at all.
    private func requireEventRoom() throws(RequestError) {
        if !admission.isLong(line) { return }
        machine.plan.clear()
        defer { machine.plan.clear() }
        guard (try? machine.planDispatch(commands.request)) != nil else { return }
        try admission.requireEventRoom()
    }

    private func admitPlan(isTold: Bool) throws(RequestError) -> Bool {
        if admission.isLong(line) { try admission.requireEventRoom() }
        guard machine.isPlanWide || long.knowsExpensive || !machine.plan.storeSteps.isEmpty else {
            return true
        }
        return try !long.mustWaitForPlan(connection!, line, isTold: isTold)
    }

    func apply(by principal: Principal, spending operations: Int) throws(RequestError) -> Int {
        matched = try commits.apply(by: principal, for: connection, spending: operations)
        return matched
    }

    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        commits.commit(by: principal, actions: actions, key: key, details)
        guard actions else { return }
        commits.noteViews()
        // They are no part of what the stores take that a batch creates.
        if machine.isRead { operationsBefore &+= machine.operationsOfViews }
        if let connection { outputs.reportCommit(by: connection, matched: matched, of: machine) }
    }

    func note(_ session: Session) {
        log.appendWill(of: session, machine)
        if let connection, let willBytes { connections.countWill(willBytes, of: connection) }
    }
    func note(endOf session: SessionID) { log.appendEnd(of: session, machine) }
    func report(_ report: CommandReport) { outputs.report(report, of: machine) }

    /// Planning and computing cost work even where the request comes to nothing.
    func finish() {
        if connection != nil, commands.request.present.contains(.actions) {
            clock.work += Work.batchAction * (machine.plan.actions.count + machine.plan.storeSteps.count)
        }
        let work = Work.operation &* (machine.operationsBeside &- operationsBefore)
        clock.work &+= work &+ Work.conditionByte &* machine.plan.conditionCache.takeCompiledBytes()
        if isCreating { connection?.turn.note(state: work) }
        machine.plan.clear()
    }
}
