import BusJSON
import BusMachine
import BusProtocol

/// Sessions with a name, which their clients take over when they come back.
extension Engine {
    /// The name and the time that a `hello` asks for; nil without a name.
    func requestedSession() throws(RequestError) -> (name: String, linger: Int)? {
        guard let name = try request.string(.session) else {
            guard !request.present.contains(.linger) else {
                throw .invalid(
                    "linger", "`linger` goes with `session`, the name by which the client takes it over.")
            }
            return nil
        }
        guard 1...BusLimits.sessionName ~= name.utf8.count else {
            throw .invalid(
                "session",
                "`session` is a text of 1 to \(BusLimits.sessionName) bytes that the client makes up.")
        }
        guard let value = request.value(.linger) else { return (name, 0) }
        guard let linger = DurationText.milliseconds(requested: value), linger <= BusLimits.longestLinger
        else {
            throw .invalid(
                "linger",
                "`linger` is seconds or a text such as \"10s\" of at most \(DurationText.longestText) bytes, at most a day."
            )
        }
        return (name, linger)
    }

    /// Gives a connection the session with a name. True: it has one that was left, with a will or stores.
    func attach(
        _ connection: Connection, to name: String, linger: Int
    ) throws(RequestError) -> Bool {
        let principal = connection.access.principal!
        if let known = connection.hold.name, !UTF8Order.equal(known, name) {
            throw .invalid(
                "session", "This connection has the session \(known); open another one for \(name).")
        }
        clock.work += Work.look * machine.sessionCount
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
        log.appendWill(of: session, machine)
        return isResumed
    }

    /// A connection that named the session before, and of which the bus may not know yet that it has ended, has it no
    /// longer: what still comes from there ends with it.
    private func hold(_ name: String, by connection: Connection, _ linger: Int) {
        let holder = SessionHolder(identity: connection.access.principal?.identity, name: name)
        if let before = sessionHolders.updateValue(connection.id, forKey: holder), before != connection.id {
            connections.find(before)?.hold.loseName()
        }
        connection.hold.name(name, linger: linger)
    }

    /// The connection has ended, or goes on in this daemon.
    func noteHolder(_ connection: Connection, hasEnded: Bool) {
        guard let name = connection.hold.name else { return }
        let holder = SessionHolder(identity: connection.access.principal?.identity, name: name)
        if !hasEnded {
            sessionHolders[holder] = connection.id
        } else if sessionHolders[holder] == connection.id {
            sessionHolders[holder] = nil
        }
    }

    /// From whoever has it: it lingers, or its old connection has not ended yet as far as the bus knows.
    private func takeOver(_ session: Session, for connection: Connection) {
        let gone = lingering.take(session.id)
        if gone != nil { noteLeft(session) }
        if let old = gone?.connection
            ?? connections.all.lazy.compactMap({ $0 }).first(where: { $0.hold.session === session })
        {
            connections.countWill(old.hold.willBytes, of: connection)
            connections.countWill(0, of: old)
            old.hold.give()
        }
        connection.hold.take(session)
    }

    /// The session of a connection that has ended waits for its client; false where it has to end now.
    func mayLinger(_ connection: Connection, _ session: Session) -> Bool {
        guard session.linger > 0, !session.isEmpty,
            shares.mayLinger(connection.user, among: lingering.count)
        else { return false }
        lingering.add(session, connection, until: clock.now + session.linger)
        connection.user.lingering += 1
        return true
    }

    /// A session no longer waits for its client.
    private func noteLeft(_ session: Session) { users.user(session.principal.identity).lingering -= 1 }

    /// Ends the sessions whose clients did not come back by a time.
    func endLingeringSessions(dueBy time: Int) {
        guard lingering.hasDue(at: time) else { return }
        for due in lingering.takeDue(at: time) {
            noteLeft(due.session)
            if let connection = due.connection { endInTurn(connection) } else { end(due.session) }
        }
    }

    /// The sessions without a connection, of which the daemon before has not said how long they wait: they end, or wait for
    /// their clients as if they had just gone.
    package func endOrphanedSessions() {
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

    /// A session waits whose connection an earlier daemon had.
    func wait(for session: Session, until deadline: Int) {
        lingering.add(session, nil, until: deadline)
        users.user(session.principal.identity).lingering += 1
    }
}
