import BusJSON
import BusProtocol

/// Nobody can keep the bus to itself: work is done in turns, and in a turn for one after the other.
///
/// Whoever sends something is served at once, for as much work as a *slice* allows. What is left waits in a queue, in the
/// order of fairness (`FairQueue`), and so does whoever comes while others wait. Between two turns, which end after
/// `Limits.turnWork`, the owner of the sockets writes, reads, and sees to its clocks. Only one commit can't be
/// interrupted: what it costs is bounded, and whoever sent it waits until others have had as much.
extension Engine {
    /// Sets the time of the turn: milliseconds since 1970. Time never goes back.
    package func beginTurn(at milliseconds: Int) {
        now = max(now, milliseconds)
        statistics.work &+= work
        work = 0
        turnOutput = 0
        endCohorts()
        recycleRuns()
    }

    /// Whether somebody waits for a turn.
    package var hasWork: Bool { !queue.isEmpty }

    /// The work done in this turn so far, as `Work` counts it.
    package var workOfTurn: Int { work }

    /// All the work that was ever done.
    package var totalWork: Int { statistics.work &+ work }

    /// The turn has taken as long as it may, whatever was counted.
    package func closeTurn() { work = max(work, limits.turnWork) }

    /// Whether this turn has room for more.
    package var turnHasRoom: Bool { work < limits.turnWork && turnOutput < Limits.turnOutput }

    /// Whether new input may be carried out as it comes, because nobody waits and the turn has room.
    package var isUncontended: Bool { queue.isEmpty && turnHasRoom }

    /// There is input for a connection that must not be carried out before it is its turn: `serveNext` asks for it then.
    package func awaitTurn(_ id: ConnectionID) {
        let connection = connection(id)
        connection.awaitsInput = true
        enqueue(connection)
    }

    /// Serves whose turn it is. Gives a connection if that one waits to be read: its socket's input is to be given to `receive`.
    package func serveNext() -> ConnectionID? {
        guard let errand = queue.takeFirst() else { return nil }
        switch errand {
        case .serve(let connection): return serveQueued(connection)
        case .serveLost: return serveLost()
        case .end(let connection):
            end(connection)
        case .sweep:
            isSweeping = false
            let start = beginSlice()
            sweep()
            sweepShare.charge(work - start)
            sliceEnd = 0
        }
        return nil
    }

    private func serveQueued(_ connection: Connection) -> ConnectionID? {
        connection.isQueued = false
        let awaitsInput = connection.awaitsInput
        connection.awaitsInput = false
        if connection.isGone { return nil }
        connection.isInTurn = true
        // What it has sent before comes first; the socket says again that there is more.
        if awaitsInput, !mustWait(connection), !connection.isClosing { return connection.id }
        serve(connection)
        return nil
    }

    /// Those whose peers are gone have one share together: however many come, send something and go, they are one to those
    /// who stay.
    private func serveLost() -> ConnectionID? {
        isLostQueued = false
        let connection = lostConnections.takeFirst()
        let toRead = connection.flatMap { serveQueued($0) }
        queueLost()
        return toRead
    }

    private func queueLost() {
        if isLostQueued || lostConnections.isEmpty { return }
        isLostQueued = true
        queue.add(.serveLost, &lostShare)
    }

    /// Serves all that wait, however long it takes: for engines whose only client is the caller.
    package func serveAll() {
        while hasWork { _ = serveNext() }
    }

    // MARK: Slices

    /// A slice begins; gives where it does on the turn's clock of work.
    @inline(__always)
    func beginSlice() -> Int {
        sliceEnd = work &+ limits.sliceWork
        deliveredWork = 0
        return work
    }

    /// A slice ends: what was done in it is charged, and what is left waits.
    @inline(__always)
    func endSlice(_ start: Int, _ connection: Connection) {
        sliceEnd = 0
        let done = work &- start &- deliveredWork
        deliveredWork = 0
        if connection.isLost {
            lostShare.charge(done)
        } else {
            if !connection.isInTurn { queue.serveAtOnce(&connection.share) }
            connection.share.charge(done)
        }
        connection.isInTurn = false
        if connection.isPaused, !connection.isClosing { enqueue(connection) }
    }

    /// Something was done for a subscriber's sake: not who dispatches pays for it, but who wants to hear of it, up to what
    /// two slices cost.
    @inline(__always)
    func bill(_ work: Int, to connection: Connection) {
        connection.share.owe(work, upTo: queue.clock &+ 2 &* limits.sliceWork)
    }

    /// The work done in the present slice; outside of one, as much as a turn may take.
    var workOfSlice: Int { sliceEnd == 0 ? limits.turnWork : work &- sliceEnd &+ limits.sliceWork }

    /// Whether what goes on now has used up its slice.
    @inline(__always)
    var isSliceUsedUp: Bool { work >= sliceEnd }

    /// Waits for its turn; `work`: what it will take, where that is known.
    func enqueue(_ connection: Connection, expecting work: Int? = nil) {
        if connection.isQueued { return }
        connection.isQueued = true
        guard connection.isLost else {
            return queue.add(.serve(connection), &connection.share, expecting: work)
        }
        // One after the other, so that not all of them hold what they have sent.
        if connection.heldBytes > 0 {
            lostConnections.putBack(connection)
        } else {
            lostConnections.append(connection)
        }
        queueLost()
    }

    /// Goes on with a connection, as something it waited for has come: at once if nobody else waits, else in its turn.
    func proceed(_ connection: Connection) {
        if sliceEnd != 0 || connection.isQueued { return enqueue(connection) }
        if isUncontended { serve(connection) } else { enqueue(connection) }
    }

    /// Lets a connection go on with what it has, for one slice.
    func serve(_ connection: Connection) {
        let start = beginSlice()
        connection.isPaused = false
        if !connection.isBlocked, !connection.isClosing {
            connection.lines.resume { self.carryOut($0, for: connection) }
        }
        settle(connection)
        countHeld(connection)
        endSlice(start, connection)
        if !connection.isPaused { markReady(connection) }
    }
}
