/// Who waits for a turn, and who may do something long.
///
/// Requests are carried out in slices, one connection after the other by fairness (`FairQueue`). Only one commit can't be
/// interrupted: what it costs is bounded, known about before, and a *long* one passes a gate, which everything long closes for
/// a hundred times what it took. Nobody waits there who is alone on the bus.
final class Scheduler {
    private let clock: TurnClock
    private var limits: DaemonLimits { clock.limits }

    @exclusivity(unchecked) private var queue = FairQueue<Errand>()

    /// Connections whose peers are gone, that wait for their turn, and how far they have come together.
    @exclusivity(unchecked) private var lost = WaitingLine()
    @exclusivity(unchecked) private var isLostQueued = false
    @exclusivity(unchecked) private var lostShare = Share(expecting: 0)
    @exclusivity(unchecked) private var isSweepQueued = false
    @exclusivity(unchecked) private var sweepShare = Share(expecting: 0)

    /// Before this time, in milliseconds since 1970, no long commit is begun, and who waits for it.
    @exclusivity(unchecked) private var gateOpensAt = 0
    @exclusivity(unchecked) private var waitingAtGate: [Errand] = []
    /// The two connections that were at work last, and when.
    @exclusivity(unchecked) private var latestActive = -1
    @exclusivity(unchecked) private var latestActiveAt = Int.min / 2
    @exclusivity(unchecked) private var otherActive = -1
    @exclusivity(unchecked) private var otherActiveAt = Int.min / 2

    init(_ clock: TurnClock) { self.clock = clock }

    // MARK: Turns

    /// Whether somebody waits for a turn.
    @inline(__always)
    var hasWork: Bool { !queue.isEmpty }

    /// Whether new input may be carried out as it comes, because nobody waits and the turn has room.
    @inline(__always)
    var isUncontended: Bool { queue.isEmpty && clock.hasRoom }

    /// Whose turn it is.
    func takeFirst() -> Errand? {
        let errand = queue.takeFirst()
        if case .sweep? = errand { isSweepQueued = false }
        return errand
    }

    /// Waits for its turn; `work`: what it will take, where that is known.
    func enqueue(_ connection: Connection, expecting work: Int? = nil) {
        if connection.isQueued { return }
        connection.isQueued = true
        guard connection.isLost else {
            return queue.add(.serve(connection), &connection.share, expecting: work)
        }
        // One after the other, so that not all of them hold what they have sent.
        if connection.heldBytes > 0 {
            lost.putBack(connection)
        } else {
            lost.append(connection)
        }
        queueLost()
    }

    /// Those whose peers are gone have one share together: however many come, send something and go, they are one to those
    /// who stay.
    func takeLost() -> Connection? {
        isLostQueued = false
        return lost.takeFirst()
    }

    func queueLost() {
        if isLostQueued || lost.isEmpty { return }
        isLostQueued = true
        queue.add(.serveLost, &lostShare)
    }

    /// Groups that nobody is in any more are to be swept.
    func enqueueSweep() {
        if isSweepQueued { return }
        isSweepQueued = true
        queue.add(.sweep, &sweepShare)
    }

    /// The end of a connection waits for its turn, at the place where it will be done: whoever has little to do is not held up
    /// by the ends of many.
    func enqueueEnd(of connection: Connection, expecting work: Int?) {
        queue.add(.end(connection), &connection.share, expecting: work)
    }

    /// The ends that wait, which are the caller's now.
    func takeEnds() -> [Connection] {
        let isEnd = { (errand: Errand) in if case .end = errand { true } else { false } }
        let errands = queue.removeAll(where: isEnd) + waitingAtGate.filter(isEnd)
        waitingAtGate.removeAll(where: isEnd)
        return errands.compactMap { if case .end(let connection) = $0 { connection } else { nil } }
    }

    // MARK: Slices

    /// A slice begins; gives where it does on the turn's clock of work.
    @inline(__always)
    func beginSlice() -> Int {
        clock.sliceEnd = clock.work &+ limits.sliceWork
        clock.deliveredWork = 0
        return clock.work
    }

    /// A slice ends: what was done in it is charged, and what is left waits.
    @inline(__always)
    func endSlice(_ start: Int, _ connection: Connection) {
        clock.sliceEnd = 0
        let done = clock.work &- start &- clock.deliveredWork
        clock.deliveredWork = 0
        if connection.isLost {
            lostShare.charge(done)
        } else {
            if !connection.isInTurn { queue.serveAtOnce(&connection.share) }
            connection.share.charge(done)
        }
        connection.isInTurn = false
        if connection.isPaused, !connection.isClosing { enqueue(connection) }
    }

    /// A slice of sweeping ends.
    func endSweep(_ start: Int) {
        sweepShare.charge(clock.work - start)
        clock.sliceEnd = 0
    }

    /// Something was done for a subscriber's sake: not who dispatches pays for it, but who wants to hear of it, up to what
    /// two slices cost.
    @inline(__always)
    func bill(_ work: Int, to connection: Connection) {
        connection.share.owe(work, upTo: queue.clock &+ 2 &* limits.sliceWork)
    }

    // MARK: The gate

    /// Input has come from a connection: it is at work.
    @inline(__always)
    func noteActivity(of connection: Connection) {
        if latestActive == connection.id {
            latestActiveAt = clock.now
        } else {
            (otherActive, otherActiveAt) = (latestActive, latestActiveAt)
            (latestActive, latestActiveAt) = (connection.id, clock.now)
        }
    }

    /// Whether others than this connection were at work lately.
    private func isOtherActive(than id: ConnectionID) -> Bool {
        let at = latestActive == id ? otherActiveAt : latestActiveAt
        return clock.now - at < DaemonLimits.activeMilliseconds
    }

    /// Whether long commits of a connection have to wait.
    func isGateClosed(to id: ConnectionID) -> Bool { clock.now < gateOpensAt && isOtherActive(than: id) }

    /// Something long was done.
    func closeGate(after cost: Int) {
        gateOpensAt = max(gateOpensAt, clock.now + cost / 1_000_000 * DaemonLimits.pauseAfterLongRequest)
    }

    func waitAtGate(_ errand: Errand) { waitingAtGate.append(errand) }

    func leaveGate(_ connection: Connection) {
        waitingAtGate.removeAll {
            if case .serve(let other) = $0 { other === connection } else { false }
        }
    }

    /// When somebody at the gate can go on, in milliseconds since 1970.
    var gateDeadline: Int? {
        waitingAtGate.isEmpty
            ? nil : max(min(gateOpensAt, otherActiveAt + DaemonLimits.activeMilliseconds), clock.now + 1)
    }

    /// The gate is open: who waits longest goes on, and what that costs closes it again.
    func openGateIfDue() {
        guard let first = waitingAtGate.first else { return }
        // Who is alone by now need not wait any longer.
        let isIdle = clock.now - otherActiveAt >= DaemonLimits.activeMilliseconds
        guard clock.now >= gateOpensAt || isIdle else { return }
        switch first {
        case .serve(let connection): enqueue(connection)
        case .end(let connection):
            waitingAtGate.removeFirst()
            enqueueEnd(of: connection, expecting: nil)
        case .sweep, .serveLost: waitingAtGate.removeFirst()
        }
    }
}
