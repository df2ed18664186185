/// Turns, and whose turn it is.
///
/// Everything is done in slices of work, one connection after the other: a connection that has used up its slice waits
/// until it is its turn again. Between two slices the owner of the sockets may do something else; after slices that
/// together take `turnWork`, it writes, reads, and checks its timers.
extension Engine {
    /// Sets the time of the turn: milliseconds since 1970. Time never goes back.
    package func beginTurn(at milliseconds: Int) {
        clock.begin(at: milliseconds)
        clock.makeRoom(for: hub.groups.mostPublishing)
        timers.advance()
        hub.endMulticasts()
        connections.recycleRuns()
    }

    /// Whether anything waits for a turn.
    package var hasWork: Bool { scheduler.hasWork }

    /// The work done in this turn so far, as `Work` counts it.
    package var workOfTurn: Int { clock.work }

    /// All the work that was ever done.
    package var totalWork: Int { clock.totalWork }

    /// Whether several users have been active lately, so that turns should be short.
    package var isShared: Bool { scheduler.isShared }

    /// Somebody who is no client yet takes the owner's time, as another user does.
    package func noteStrangers() { scheduler.noteActivity(of: users.strangers) }

    /// Reading sockets has taken as long as it may, whatever was counted: what comes now waits for its turn.
    package func closeTurn() { clock.close() }

    /// Those who wait are to be served, however long the sockets took.
    package func reopenTurn() { clock.reopen() }

    /// The number of the user of a connection, which is 0 for one that is gone.
    package func userNumber(of id: ConnectionID) -> Int { connections.find(id)?.user.number ?? 0 }

    /// Whether this turn has room for more.
    package var turnHasRoom: Bool { clock.hasRoom }

    /// Whether new input may be executed as it comes, because nothing waits and the turn has room.
    package var isUncontended: Bool { scheduler.isUncontended }

    /// There is input for a connection that must wait for its turn: `serveNext` asks for it then.
    package func awaitTurn(_ id: ConnectionID) {
        let connection = connections[id]
        connection.turn.awaitInput()
        scheduler.enqueue(connection)
    }

    /// Serves the next in the queue. Returns a connection if that one waits to be read: its socket's input
    /// is to be passed to `receive`.
    package func serveNext() -> ConnectionID? {
        guard let errand = scheduler.takeFirst() else { return nil }
        switch errand {
        case .serve(let connection): return serveQueued(connection)
        case .serveNext(let turn, let user):
            let connection = scheduler.takeNext(of: turn, user)
            let toRead = connection.flatMap { serveQueued($0) }
            scheduler.queueNext(of: turn, user)
            return toRead
        case .end(let connection): sessions.end(connection)
        case .timers: timers.fire()
        case .sweep:
            let start = scheduler.beginSlice()
            hub.groups.sweep()
            scheduler.endSweep(start)
        }
        return nil
    }

    private func serveQueued(_ connection: Connection) -> ConnectionID? {
        let awaitsInput = connection.turn.begin()
        if connection.isGone { return nil }
        // Lines received earlier come first; the socket reports again that there is more.
        if awaitsInput, !mustWait(connection), !connection.isClosing { return connection.id }
        serve(connection)
        return nil
    }

    /// Serves all that wait, however long it takes: for engines whose only client is the caller.
    package func serveAll() {
        while hasWork { _ = serveNext() }
    }

    /// Continues a connection, because something it waited for has come: at once if nothing
    /// else waits, else in its turn.
    func proceed(_ connection: Connection) {
        if clock.sliceEnd != 0 || connection.turn.isQueued { return scheduler.enqueue(connection) }
        if scheduler.isUncontended { serve(connection) } else { scheduler.enqueue(connection) }
    }

    /// Lets a connection continue with what it has, for one slice.
    func serve(_ connection: Connection) {
        let start = scheduler.beginSlice()
        let logged = log.mark
        connection.beginSlice()
        if connection.waits.isEmpty, !connection.isClosing {
            connection.input.resume { self.execute($0, for: connection) }
        }
        settle(connection)
        noteLogged(connection, since: logged)
        connections.countHeld(connection)
        scheduler.endSlice(start, connection)
        if !connection.waits.contains(.slice) { connections.markReady(connection) }
    }
}
