import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// Connections end: their reads are dropped at once, and their sessions are ended in their turn.
extension Engine {
    /// The socket is closed, by either side: the will and the drops of ephemeral stores are applied
    /// as soon as it is their turn.
    package func disconnect(_ id: ConnectionID) {
        let connection = connections[id]
        connection.end()
        forgetRead(of: connection)
        forgetDeferredLine(of: connection)
        connection.endQuery()
        hub.removeAll(of: connection)
        connections.remove(connection)
        connections.release(number: id)
        if shared.isOn { return endShared(connection) }
        noteHolder(connection, hasEnded: true)
        guard let session = connection.hold.session, !mayLinger(connection, session) else { return }
        endInTurn(connection)
    }

    /// Ends a connection that is gone: its will and the drops of its ephemeral stores are applied.
    func endInTurn(_ connection: Connection) {
        guard let session = connection.hold.session else { return }
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
        if let session = connection.hold.session, isEndLong(session), scheduler.isGateClosed(to: -1) {
            scheduler.waitAtGate(.end(connection))
        } else {
            finishEnd(of: connection)
        }
    }

    private func finishEnd(of connection: Connection) {
        let start = clock.work
        if let session = connection.hold.session { end(session) }
        forgetSession(of: connection)
        let done = clock.work - start
        if done >= DaemonLimits.longRequest { scheduler.closeGate(after: done) }
    }

    /// A will takes memory until it is applied.
    private func forgetSession(of connection: Connection) {
        connection.hold.take(nil)
        connections.countWill(0, of: connection)
    }

    /// Whether the commit that ends a session is a long one.
    private func isEndLong(_ session: Session) -> Bool {
        defer { machine.plan.clear() }
        // A will that can't be planned is no commit.
        try? machine.planWill(of: session)
        clock.work += Work.batchAction * session.will.count
        return plannedWork() + session.ephemeralStores.count * Work.drop >= DaemonLimits.longRequest
    }

    /// Ends all connections that wait for it, before the daemon exits or hands over.
    package func finishEnds() {
        for connection in scheduler.takeEnds() { finishEnd(of: connection) }
    }

    /// The sessions of ends that wait; the caller takes them over.
    func takeWaitingSessions() -> [Session] {
        scheduler.takeEnds().compactMap { connection in
            defer { forgetSession(of: connection) }
            return connection.hold.session
        }
    }

    /// Ends a session: applies its will, then drops its ephemeral stores, as one commit.
    func end(_ session: Session) {
        if session.isEmpty, !log.isOn { return machine.closeSession(session.id) }
        guard log.unavailableReason == nil else { return unendedSessions.append(session) }
        log.noteEnd(of: session)
        clock.work += Work.request
        clock.work += Work.batchAction * session.will.count
        commands.end(session, grants: access.grants(of: session.principal), local.here(for: nil))
    }
}
