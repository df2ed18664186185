import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// The sessions of clients: those with a name, which their clients take over when they come back, and the ends of all.
package final class Sessions {
    private let machine: StateMachine
    private let clock: TurnClock
    private let scheduler: Scheduler
    private let connections: Connections
    private let users: Users
    private let shares: FairShares
    private let log: LogGate
    private let access: AccessControl
    private let long: LongRequests
    private let commands: Commands
    private let host: LocalHost

    /// Sessions that ended while nothing could be committed.
    @exclusivity(unchecked) private var unended: [Session] = []
    /// Sessions that wait for their clients to come back.
    @exclusivity(unchecked) private var lingering = LingeringSessions()
    /// The connections that have named a session.
    @exclusivity(unchecked) private var holders: [SessionName: ConnectionID] = [:]

    init(
        _ machine: StateMachine, _ clock: TurnClock, _ scheduler: Scheduler, _ connections: Connections,
        _ users: Users, _ shares: FairShares, _ log: LogGate, _ access: AccessControl, _ long: LongRequests,
        _ commands: Commands, _ host: LocalHost
    ) {
        self.machine = machine
        self.clock = clock
        self.scheduler = scheduler
        self.connections = connections
        self.users = users
        self.shares = shares
        self.log = log
        self.access = access
        self.long = long
        self.commands = commands
        self.host = host
    }

    // MARK: Names

    /// Gives a connection the session with a name. True: it has one that was left, with a will or stores.
    func attach(_ connection: Connection, to name: String, linger: Int) throws(RequestError) -> Bool {
        let principal = connection.access.principal!
        try connection.hold.requireName(name)
        let left = machine.session(named: name, of: principal)
        var isResumed = false
        if let left, left !== connection.hold.session {
            guard connection.hold.session == nil else {
                throw .invalid(
                    "session",
                    "The session \(name) was left before; say hello with it before a will or an ephemeral store."
                )
            }
            takeOver(left, for: connection)
            isResumed = !left.isEmpty
        }
        hold(name, by: connection, linger)
        guard let session = connection.hold.session else { return isResumed }
        machine.name(session, name, linger: linger, principal)
        // What can't be written would rewind the bus. `resumeCommits` has the log know it.
        if log.unavailableReason == nil { log.appendWill(of: session, machine) }
        return isResumed
    }

    /// A connection that named the session before, and of which the bus may not know yet that it has ended, has it no
    /// longer: what still comes from there ends with it.
    private func hold(_ name: String, by connection: Connection, _ linger: Int) {
        connection.hold.name(name, linger: linger)
        guard let holder = holder(connection) else { return }
        if let before = holders.updateValue(connection.id, forKey: holder), before != connection.id {
            connections.find(before)?.hold.loseName()
        }
    }

    /// What a connection is known by that has named its session.
    private func holder(_ connection: Connection) -> SessionName? {
        connection.hold.name.map { SessionName(connection.access.principal?.identity, $0) }
    }

    /// From whoever has it: it lingers, or its old connection has not ended yet as far as the bus knows.
    private func takeOver(_ session: Session, for connection: Connection) {
        let gone = lingering.take(session.id)
        if let gone { noteLeft(gone) }
        if let old = gone?.connection
            ?? connections.all.lazy.compactMap({ $0 }).first(where: { $0.hold.session === session })
        {
            connections.countWill(old.hold.willBytes, of: connection)
            connections.countWill(0, of: old)
            old.hold.give()
        } else {
            connections.countWill(DaemonLimits.memory(ofWill: session), of: connection)
        }
        connection.hold.take(session)
    }

    // MARK: Waiting

    /// When the next one ends whose client does not come back, in milliseconds since 1970; nil where none waits.
    var nextDeadline: Int? { lingering.nextDeadline }

    /// The session of a connection that has ended waits for its client; false where it has to end now.
    private func mayLinger(_ connection: Connection, _ session: Session) -> Bool {
        guard session.linger > 0, !session.isEmpty,
            shares.mayLinger(connection.user, among: lingering.count)
        else { return false }
        lingering.add(session, connection, until: clock.now + session.linger)
        connection.user.lingering += 1
        return true
    }

    /// A session waits whose connection an earlier daemon had.
    private func wait(for session: Session, until deadline: Int) {
        lingering.add(session, nil, until: deadline)
        let user = users.user(session.principal.identity)
        user.lingering += 1
        connections.countWill(growingBy: DaemonLimits.memory(ofWill: session), of: user)
    }

    /// A session no longer waits for its client.
    private func noteLeft(_ left: LingeringSessions.Lingering) {
        let user = users.user(left.session.principal.identity)
        user.lingering -= 1
        guard left.connection == nil else { return }
        connections.countWill(growingBy: -DaemonLimits.memory(ofWill: left.session), of: user)
    }

    // MARK: Ends

    /// A connection has ended: so does its session, in its turn, unless it waits for its client.
    func leave(_ connection: Connection) {
        if let holder = holder(connection), holders[holder] == connection.id { holders[holder] = nil }
        guard let session = connection.hold.session, !mayLinger(connection, session) else { return }
        endInTurn(connection)
    }

    /// Ends the sessions whose clients did not come back by a time.
    func endLingering(dueBy time: Int) {
        guard lingering.hasDue(at: time) else { return }
        endLingering { $0.deadline <= time }
    }

    /// Ends the sessions that wait for clients who can't come back. Those of connections end with them, and don't wait.
    func endAll(whoseClient isGone: (Identity?) -> Bool) {
        for case let connection? in connections.all where isGone(connection.access.principal?.identity) {
            if let session = connection.hold.session { machine.giveUpName(of: session) }
        }
        endLingering { isGone($0.session.principal.identity) }
    }

    private func endLingering(where isOver: (LingeringSessions.Lingering) -> Bool) {
        for left in lingering.take(where: isOver) {
            noteLeft(left)
            if let connection = left.connection { endInTurn(connection) } else { end(left.session) }
        }
    }

    /// The sessions without a connection, of which the daemon before has not said how long they wait: they end, or wait for
    /// their clients as if they had just gone.
    package func endOrphaned() {
        let held = Set(
            connections.all.compactMap { $0?.hold.session?.id } + lingering.inOrder.map(\.session.id))
        for session in machine.sessionsInOrder where !held.contains(session.id) {
            if session.linger > 0, !session.isEmpty {
                wait(for: session, until: clock.now + session.linger)
            } else {
                end(session)
            }
        }
    }

    /// Ends all connections that wait for it, before the daemon exits or hands over.
    package func finishEnds() {
        for connection in scheduler.takeEnds() { finishEnd(of: connection) }
    }

    /// Ends a connection that is gone: its will and the drops of its ephemeral stores are applied.
    private func endInTurn(_ connection: Connection) {
        guard let session = connection.hold.session else { return }
        machine.giveUpName(of: session)
        if scheduler.isUncontended {
            end(connection)
        } else {
            // Queued where it will end: connections with little to do are not held up by the ends of many.
            let cost =
                session.will.count * Work.batchAction + session.ephemeralStores.count * Work.drop
            scheduler.enqueueEnd(of: connection, expecting: cost)
        }
    }

    /// It is the turn of a connection that is gone. Its share, with which it waited for this, ends with it and is not
    /// charged to the other lost connections, but to their user.
    func end(_ connection: Connection) {
        let start = scheduler.beginSlice()
        defer { scheduler.endEnd(start, connection) }
        if let session = connection.hold.session, long.mustWaitAtGate(for: work(ofEnding: session)) {
            scheduler.waitAtGate(.end(connection))
        } else {
            finishEnd(of: connection)
        }
    }

    private func finishEnd(of connection: Connection) {
        let start = clock.work
        if let session = connection.hold.session { end(session) }
        forget(connection)
        long.noteTime(clock.work - start)
    }

    /// A will takes memory until it is applied.
    private func forget(_ connection: Connection) {
        connection.hold.take(nil)
        connections.countWill(0, of: connection)
    }

    /// What the commit that ends a session will cost.
    private func work(ofEnding session: Session) -> Int {
        defer { machine.plan.clear() }
        // A will that can't be planned is no commit.
        try? machine.planWill(of: session)
        clock.work += Work.batchAction * session.will.count
        return long.plannedWork() + session.ephemeralStores.count * Work.drop
    }

    /// Ends a session: applies its will, then drops its ephemeral stores, as one commit.
    private func end(_ session: Session) {
        if session.isEmpty, !log.isOn { return machine.closeSession(session.id) }
        machine.giveUpName(of: session)
        guard log.unavailableReason == nil else { return unended.append(session) }
        log.noteEnd(of: session)
        clock.work += Work.request
        clock.work += Work.batchAction * session.will.count
        let host = host.here(for: nil)
        commands.end(session, grants: access.grants(of: session.principal), host)
        host.finish()
    }

    // MARK: The log

    /// What was committed lately is lost: these sessions had ended there, and have still to be ended.
    func keep(ended: [Session]) {
        let waiting = scheduler.takeEnds().compactMap { connection in
            defer { forget(connection) }
            return connection.hold.session
        }
        unended = ended + waiting + unended
    }

    /// The machine is that of an earlier revision.
    func adopt() {
        for case let connection? in connections.all {
            connection.hold.take(connection.hold.session.map { machine.adopt($0) })
        }
        lingering.adopt { machine.adopt($0) }
        unended = unended.map { machine.adopt($0) }
    }

    /// The log accepts commits again: sessions that had to wait are ended.
    func endUnended() {
        let ended = unended
        unended = []
        for session in ended { end(session) }
    }

    /// Has the log know all wills: also one that was cleared is logged, because the log may have kept it.
    func appendWills() {
        for case let connection? in connections.all {
            if let session = connection.hold.session { log.appendWill(of: session, machine) }
        }
        for waiting in lingering.inOrder { log.appendWill(of: waiting.session, machine) }
    }

    // MARK: Hand-over

    func handOver(to writer: RecordWriter) {
        for waiting in lingering.inOrder where !waiting.session.isEmpty {
            writer.record("lingering") { record in
                record("session", .int(waiting.session.id))
                record("deadline", .int(waiting.deadline))
            }
        }
    }

    /// A session goes on waiting for its client, no longer than it would have.
    func takeOver(_ record: TransferRecord) throws(TransferFailure) {
        guard let session = machine.session(try record.integer("session")) else {
            throw record.missing("session")
        }
        wait(for: session, until: try record.integer("deadline"))
    }

    /// The session of a connection. `isSession`: in form 1 each connection was a session with its number, and had the will.
    func takeOver(
        _ record: TransferRecord, of connection: Connection, isSession: Bool
    ) throws(TransferFailure) {
        if let number = isSession ? connection.id : record.members["session"]?.int,
            let principal = connection.access.principal
        {
            guard StateMachine.isSession(number) else { throw record.missing("session") }
            connection.hold.take(machine.session(number) ?? machine.openSession(number, principal))
        }
        let (name, linger) = (record.members["sessionName"]?.string, record.members["linger"]?.int ?? 0)
        connection.hold.name(name, linger: linger)
        if let session = connection.hold.session, let name {
            // One in which there was nothing was not handed over, and begins here.
            machine.name(session, name, linger: linger, session.principal)
        }
        if let holder = holder(connection) { holders[holder] = connection.id }
        guard isSession, let session = connection.hold.session else { return }
        machine.setWill(
            try (record.members["will"]?.array ?? []).map { (element) throws(TransferFailure) in
                guard let action = WillAction(element) else { throw record.missing("will") }
                return action
            }, of: session)
    }
}
