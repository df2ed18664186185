import BusCommands

/// Whose turn it is, and which long requests may begin.
///
/// Requests are executed in slices, one connection after the other by fairness among users, and then among the connections
/// of each (`UserQueue`). Only a commit can't be
/// interrupted: its cost is bounded and estimated in advance, and a *long* one passes a gate, which every long request
/// closes for a multiple of the time it took. A connection that is alone on the bus never waits there.
final class Scheduler {
    private let clock: TurnClock
    private let users: Users
    private var limits: DaemonLimits { clock.limits }

    @exclusivity(unchecked) private var queue = UserQueue()

    @exclusivity(unchecked) private var isSweepQueued = false
    @exclusivity(unchecked) private var sweepShare = Share(expecting: 0)
    /// Whether due timers wait for their turn, or at the gate.
    @exclusivity(unchecked) private(set) var hasTimersQueued = false
    @exclusivity(unchecked) private var timerShare = Share(expecting: 0)

    /// Before this time, in milliseconds since 1970, no long commit is begun; and what waits for it.
    @exclusivity(unchecked) private var gateOpensAt = 0
    @exclusivity(unchecked) private var waitingAtGate: [Errand] = []
    /// Which of them is next, and how many were let through.
    @exclusivity(unchecked) private var nextAtGate: Int?
    @exclusivity(unchecked) private var letThrough = 0
    /// The two connections that were active last, and when.
    @exclusivity(unchecked) private var latestActive = -1
    @exclusivity(unchecked) private var latestActiveAt = Int.min / 2
    @exclusivity(unchecked) private var otherActive = -1
    @exclusivity(unchecked) private var otherActiveAt = Int.min / 2
    /// The user who was active last, and when one was before who is another.
    @exclusivity(unchecked) private var latestUser: User
    @exclusivity(unchecked) private var usersChangedAt = Int.min / 2

    init(_ clock: TurnClock, _ users: Users) {
        self.clock = clock
        self.users = users
        latestUser = users.strangers
    }

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
        // One that is behind, and now asks for something, leaves the others behind.
        if connection.turn.hasErrand || connection.turn.isQueued && !connection.turn.hasPlaceBehind { return }
        let isOnlyBehind = connection.isOnlyBehind
        if connection.turn.isQueued, isOnlyBehind { return }
        guard let turn = sharedTurn(of: connection, expecting: work) else {
            if !isOnlyBehind {
                _ = connection.turn.queue()
                return connection.turn.add(
                    .serve(connection), of: connection.user, to: &queue, expecting: work)
            }
            if connection.turn.queueBehind() { connection.user.behind.line.append(connection) }
            return queueNext(of: connection.user.behind, connection.user)
        }
        guard connection.turn.queue() else { return }
        // One after the other, so that not all of them hold what they have sent.
        if connection.input.countedBytes > 0 {
            turn.line.putBack(connection)
        } else {
            turn.line.append(connection)
        }
        queueNext(of: turn, connection.user)
    }

    /// The turn that a connection shares with others of its user; nil for one with a turn of its own, which also a newcomer has
    /// that asks for much.
    @inline(__always)
    private func sharedTurn(of connection: Connection, expecting work: Int?) -> SharedTurn? {
        if connection.isLost { return connection.user.lost }
        return connection.turn.isFirst && work == nil ? connection.user.newcomers : nil
    }

    func takeNext(of turn: SharedTurn, _ user: User) -> Connection? {
        turn.isQueued = false
        while let connection = turn.line.takeFirst() {
            if connection.turn.takePlace(behind: turn === user.behind) { return connection }
        }
        return nil
    }

    func queueNext(of turn: SharedTurn, _ user: User) {
        if turn.isQueued || turn.line.isEmpty { return }
        turn.isQueued = true
        queue.add(.serveNext(turn, of: user), of: user, &turn.share)
    }

    /// Queues the sweep of groups without subscribers.
    func enqueueSweep() {
        if isSweepQueued { return }
        isSweepQueued = true
        queue.add(.sweep, of: users.daemon, &sweepShare)
    }

    /// Queues the timers that are due.
    func enqueueTimers() {
        if hasTimersQueued { return }
        hasTimersQueued = true
        queue.add(.timers, of: users.daemon, &timerShare)
    }

    /// The end of a connection waits for its turn, at the place where it will be done: connections with little to do
    /// are not held up by the ends of many.
    func enqueueEnd(of connection: Connection, expecting work: Int?) {
        connection.turn.add(.end(connection), of: connection.user, to: &queue, expecting: work)
    }

    /// The ends that wait; the caller takes them over.
    func takeEnds() -> [Connection] {
        let isEnd = { (errand: Errand) in if case .end = errand { true } else { false } }
        let errands = queue.removeAll(of: users.all, where: isEnd) + waitingAtGate.filter(isEnd)
        waitingAtGate.removeAll(where: isEnd)
        findNextAtGate()
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
            connection.user.lost.share.charge(done)
        } else if connection.turn.isFromBehind {
            chargeBehind(done, of: connection.user)
        } else {
            if !connection.turn.isPresent { queue.serveAtOnce(connection) }
            if connection.turn.isFirst {
                // Where nobody waits, nobody comes after it either: debts would add up.
                if connection.turn.isPresent { chargeNewcomer(done, of: connection.user) }
                connection.turn.endFirst(done)
            } else {
                connection.turn.charge(done)
            }
        }
        connection.user.charge(done)
        connection.turn.end()
        if connection.waits.contains(.slice), !connection.isClosing { enqueue(connection) }
    }

    /// A newcomer had its first slice. Its like share one turn, in which each weighs as much as a connection that stays:
    /// charged in full, the first slices of many would be a debt that the next one waits for.
    private func chargeNewcomer(_ done: Int, of user: User) {
        let standing = user.errands.count - (user.newcomers.isQueued ? 1 : 0)
        let weight = max(1, min(user.newcomers.line.count + 1, standing))
        user.newcomers.share.charge(done / weight)
    }

    /// Connections that are behind weigh together at most `weightBehind` times as much as the user's others, and each at most
    /// as much as one of these.
    private func chargeBehind(_ done: Int, of user: User) {
        let others = max(1, user.errands.count)
        let weight = min(user.behind.line.count + 1, DaemonLimits.weightBehind * others)
        user.behind.share.charge(done / weight)
    }

    /// Ends the slice in which a connection was ended: its share ends with it, its user's does not.
    func endEnd(_ start: Int, _ connection: Connection) {
        connection.user.charge(clock.work &- start &- clock.deliveredWork)
        (clock.sliceEnd, clock.deliveredWork) = (0, 0)
    }

    /// A client of a user was accepted, which its user pays for: one that connects without end comes after others.
    func chargeConnecting(of user: User) {
        clock.work &+= Work.connection
        user.charge(Work.connection)
    }

    /// Work was done for a connection outside of its turn.
    func charge(_ work: Int, to connection: Connection) {
        connection.turn.charge(work)
        connection.user.charge(work)
    }

    /// Ends a slice of sweeping.
    func endSweep(_ start: Int) {
        sweepShare.charge(clock.work - start)
        users.daemon.charge(clock.work - start)
        clock.sliceEnd = 0
    }

    /// Ends a slice of firing timers.
    func endTimers(_ start: Int) {
        let done = clock.work &- start &- clock.deliveredWork
        timerShare.charge(done)
        users.daemon.charge(done)
        (clock.sliceEnd, clock.deliveredWork) = (0, 0)
    }

    /// Work was done for a subscriber: it is charged to the subscriber and not to the client that
    /// dispatches, up to what two slices cost.
    @inline(__always)
    func bill(_ work: Int, to connection: Connection) {
        let user = connection.user
        connection.turn.owe(work, upTo: user.errands.clock &+ 2 &* limits.sliceWork)
        user.share.owe(work, upTo: queue.clock &+ 2 &* limits.sliceWork)
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
            noteActivity(of: connection.user)
        }
    }

    func noteActivity(of user: User) {
        if user !== latestUser { (latestUser, usersChangedAt) = (user, clock.now) }
    }

    /// Whether several users have been active lately.
    var isShared: Bool { clock.now &- usersChangedAt < DaemonLimits.activeMilliseconds }

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
        findNextAtGate()
    }

    func leaveGate(_ connection: Connection) {
        connection.passGate()
        waitingAtGate.removeAll {
            if case .serve(let other) = $0 { other === connection } else { false }
        }
        findNextAtGate()
    }

    /// Users take turns at the gate, too: next is the one who was let through longest ago, and of one user's the one that
    /// waits longest.
    private func findNextAtGate() {
        nextAtGate = waitingAtGate.indices.min {
            owner(of: waitingAtGate[$0]).passedGate < owner(of: waitingAtGate[$1]).passedGate
        }
    }

    private func owner(of errand: Errand) -> User {
        switch errand {
        case .serve(let connection), .end(let connection): connection.user
        case .serveNext(_, let user): user
        case .sweep, .timers: users.daemon
        }
    }

    /// When the next one at the gate can continue, in milliseconds since 1970; nil while none waits.
    var gateDeadline: Int? {
        guard let nextAtGate else { return nil }
        if case .serve(let connection) = waitingAtGate[nextAtGate] { return opening(to: connection.id) }
        return opening(to: -1)
    }

    /// The gate is open: the next one continues, and its cost closes the gate again.
    func openGateIfDue() {
        guard let place = nextAtGate, let deadline = gateDeadline, deadline <= clock.now else { return }
        let errand = waitingAtGate.remove(at: place)
        letThrough += 1
        owner(of: errand).passedGate = letThrough
        findNextAtGate()
        switch errand {
        case .serve(let connection):
            connection.passGate()
            enqueue(connection)
        case .end(let connection): enqueueEnd(of: connection, expecting: nil)
        case .timers:
            hasTimersQueued = false
            enqueueTimers()
        case .sweep, .serveNext: break
        }
    }
}
