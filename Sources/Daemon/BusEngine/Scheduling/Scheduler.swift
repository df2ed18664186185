/// Whose turn it is, and which long requests may begin.
///
/// Requests are executed in slices, one connection after the other by fairness (`FairQueue`). Only a commit can't be
/// interrupted: its cost is bounded and estimated in advance, and a *long* one passes a gate, which every long request
/// closes for a multiple of the time it took. A connection that is alone on the bus never waits there.
final class Scheduler {
    private let clock: TurnClock
    private var limits: DaemonLimits { clock.limits }

    @exclusivity(unchecked) private var queue = FairQueue<Errand>()

    /// Connections whose peers are gone, that wait for their turn, and their common share.
    @exclusivity(unchecked) private var lost = WaitingLine()
    @exclusivity(unchecked) private var isLostQueued = false
    @exclusivity(unchecked) private var lostShare = Share(expecting: 0)
    @exclusivity(unchecked) private var isSweepQueued = false
    @exclusivity(unchecked) private var sweepShare = Share(expecting: 0)
    /// Whether due timers wait for their turn, or at the gate.
    @exclusivity(unchecked) private(set) var hasTimersQueued = false
    @exclusivity(unchecked) private var timerShare = Share(expecting: 0)

    /// Before this time, in milliseconds since 1970, no long commit is begun; and what waits for it.
    @exclusivity(unchecked) private var gateOpensAt = 0
    @exclusivity(unchecked) private var waitingAtGate: [Errand] = []
    /// The two connections that were active last, and when.
    @exclusivity(unchecked) private var latestActive = -1
    @exclusivity(unchecked) private var latestActiveAt = Int.min / 2
    @exclusivity(unchecked) private var otherActive = -1
    @exclusivity(unchecked) private var otherActiveAt = Int.min / 2

    init(_ clock: TurnClock) { self.clock = clock }

    // MARK: Turns

    /// Whether anything waits for a turn.
    @inline(__always)
    var hasWork: Bool { !queue.isEmpty }

    /// Whether new input may be executed as it comes, because nothing waits and the turn has room.
    @inline(__always)
    var isUncontended: Bool { queue.isEmpty && clock.hasRoom }

    /// The next in the queue.
    func takeFirst() -> Errand? {
        let errand = queue.takeFirst()
        switch errand {
        case .sweep: isSweepQueued = false
        case .timers: hasTimersQueued = false
        default: break
        }
        return errand
    }

    /// Queues a connection for its turn; `work`: what it will take, where that is known.
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

    /// Connections whose peers are gone have one share together: however many connect, send something and leave, they
    /// weigh as much as one that stays.
    func takeLost() -> Connection? {
        isLostQueued = false
        return lost.takeFirst()
    }

    func queueLost() {
        if isLostQueued || lost.isEmpty { return }
        isLostQueued = true
        queue.add(.serveLost, &lostShare)
    }

    /// Queues the sweep of groups without subscribers.
    func enqueueSweep() {
        if isSweepQueued { return }
        isSweepQueued = true
        queue.add(.sweep, &sweepShare)
    }

    /// Queues the timers that are due.
    func enqueueTimers() {
        if hasTimersQueued { return }
        hasTimersQueued = true
        queue.add(.timers, &timerShare)
    }

    /// The end of a connection waits for its turn, at the place where it will be done: connections with little to do
    /// are not held up by the ends of many.
    func enqueueEnd(of connection: Connection, expecting work: Int?) {
        queue.add(.end(connection), &connection.share, expecting: work)
    }

    /// The ends that wait; the caller takes them over.
    func takeEnds() -> [Connection] {
        let isEnd = { (errand: Errand) in if case .end = errand { true } else { false } }
        let errands = queue.removeAll(where: isEnd) + waitingAtGate.filter(isEnd)
        waitingAtGate.removeAll(where: isEnd)
        return errands.compactMap { if case .end(let connection) = $0 { connection } else { nil } }
    }

    // MARK: Slices

    /// Begins a slice; returns where it begins on the turn's clock of work.
    @inline(__always)
    func beginSlice() -> Int {
        clock.sliceEnd = clock.work &+ limits.sliceWork
        clock.deliveredWork = 0
        return clock.work
    }

    /// Ends a slice: its work is charged, and what is left waits.
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

    /// Ends a slice of sweeping.
    func endSweep(_ start: Int) {
        sweepShare.charge(clock.work - start)
        clock.sliceEnd = 0
    }

    /// Ends a slice of firing timers.
    func endTimers(_ start: Int) {
        timerShare.charge(clock.work &- start &- clock.deliveredWork)
        (clock.sliceEnd, clock.deliveredWork) = (0, 0)
    }

    /// Work was done for a subscriber: it is charged to the subscriber and not to the client that
    /// dispatches, up to what two slices cost.
    @inline(__always)
    func bill(_ work: Int, to connection: Connection) {
        connection.share.owe(work, upTo: queue.clock &+ 2 &* limits.sliceWork)
    }

    // MARK: The gate

    /// Input has come from a connection: it is active.
    @inline(__always)
    func noteActivity(of connection: Connection) {
        if latestActive == connection.id {
            latestActiveAt = clock.now
        } else {
            (otherActive, otherActiveAt) = (latestActive, latestActiveAt)
            (latestActive, latestActiveAt) = (connection.id, clock.now)
        }
    }

    /// When the gate opens to a connection: after the pause, or as soon as no other connection has been active lately.
    private func opening(to id: ConnectionID) -> Int {
        let othersActiveAt = latestActive == id ? otherActiveAt : latestActiveAt
        return min(gateOpensAt, othersActiveAt + DaemonLimits.activeMilliseconds)
    }

    /// Whether long commits of a connection have to wait.
    func isGateClosed(to id: ConnectionID) -> Bool { clock.now < opening(to: id) }

    /// A long request was executed.
    func closeGate(after cost: Int) {
        gateOpensAt = max(gateOpensAt, clock.now + cost / 1_000_000 * DaemonLimits.pauseAfterLongRequest)
    }

    func waitAtGate(_ errand: Errand) {
        if case .timers = errand { hasTimersQueued = true }
        waitingAtGate.append(errand)
    }

    func leaveGate(_ connection: Connection) {
        waitingAtGate.removeAll {
            if case .serve(let other) = $0 { other === connection } else { false }
        }
    }

    /// When the one that waits longest at the gate can continue, in milliseconds since 1970; nil while none waits.
    var gateDeadline: Int? {
        switch waitingAtGate.first {
        case nil: nil
        case .serve(let connection)?: opening(to: connection.id)
        default: opening(to: -1)
        }
    }

    /// The gate is open: the one that waits longest continues, and its cost closes the gate again.
    func openGateIfDue() {
        guard let deadline = gateDeadline, deadline <= clock.now else { return }
        switch waitingAtGate.removeFirst() {
        case .serve(let connection):
            connection.waitsAtGate = false
            enqueue(connection)
        case .end(let connection): enqueueEnd(of: connection, expecting: nil)
        case .timers:
            hasTimersQueued = false
            enqueueTimers()
        case .sweep, .serveLost: break
        }
    }
}
