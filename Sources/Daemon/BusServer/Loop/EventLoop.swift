import BusEngine
import BusSystem
import CLinux
import Dispatch

/// The heart of the daemon. Start reading here.
///
/// One serial Dispatch queue, the bus queue, owns everything: the engine, the sockets, the clock. Dispatch watches
/// one epoll descriptor of ours; when any socket is ready, `wakeUp` runs on the queue and takes turns until
/// nothing is ready any more. One turn is
///
///     read all that is ready → let the engine commit it → write all replies and events
///
/// so replies and events of many requests leave together, and nothing is written halfway through a turn. While the disk holds
/// up the queue, a thread takes its place, and is what everything here calls the bus queue (`StandIn`).
///
/// The engine holds every buffer and knows the protocol. The loop only moves bytes and asks the engine, per connection,
/// whether to continue reading, to write only, or to close. Descriptors are closed in one place, `close`.
///
/// Writing, accepting, deadlines and stopping have files of their own beside this one.
final class EventLoop {
    let queue: DispatchQueue
    let engine: Engine
    let poller: Poller
    var limits: Limits

    // The queue is serial, so the checks of exclusive access that every turn would pay for would find nothing.
    @exclusivity(unchecked) var connections = ConnectionTable()
    /// Those of them that have TLS.
    let secured = SecureTransports()
    var acceptors: [Acceptor] = []
    @exclusivity(unchecked) var wall = WallClock()
    var deadlines: Deadlines
    var timer: DeadlineTimer?
    /// Wakes the loop when the bus's own timers are due.
    var wallTimer: WallTimer?
    /// The log about clients.
    let clientLog: ClientLog
    /// A descriptor kept in reserve, to be able to refuse a connection when none is left.
    var spare = SpareDescriptor()
    /// While the loop stops: called once when the last connection is closed.
    var whenEmpty: (() -> Void)?
    /// Whether the units of clients are looked up: only where the daemon is a unit itself.
    var asksForUnits = false
    /// Reports turns to the service manager.
    @exclusivity(unchecked) var pulse: WatchdogReporter?
    /// Begins to reload definitions and limits, on request.
    var reload: (ReloadRequest) -> Void = { _ in }
    /// The coordinator of the action log, where there is one.
    @exclusivity(unchecked) var coordinator: LogCoordinator?
    /// Runs the loop while the log holds up the queue.
    var standIn: StandIn?

    /// The coordinator of a bus over several machines, where this is one of its members.
    @exclusivity(unchecked) var cluster: ClusterCoordinator?

    /// Measures the process's memory, where that is limited.
    @exclusivity(unchecked) var meter: MemoryMeter?

    /// The system calls so far.
    @exclusivity(unchecked) var calls = SystemCallCount()

    let buffers: LoopBuffers
    /// Connections to be written to, or checked, at the end of this turn.
    let order = WritingOrder()
    @exclusivity(unchecked) var turn = LoopTurn()
    @exclusivity(unchecked) private var busyPoll = BusyPoll()
    /// Measures one reply after the other, for `stats`.
    @exclusivity(unchecked) var probe = ReplyProbe()
    /// The log gets a batch when nothing is ready for a moment, and not after each turn: clients that were just
    /// answered send their next requests meanwhile, and a batch costs the same whatever is in it.
    var gathersTurns = false
    /// The files from which programs read states.
    let maps = MapFiles()
    let bell: EventFD

    init(
        queue: DispatchQueue, engine: Engine, limits: Limits, timeouts: Timeouts, log: ClientLog,
        bell: EventFD, usesRing: Bool
    ) throws(SystemError) {
        self.bell = bell
        buffers = LoopBuffers(usesRing: usesRing)
        self.queue = queue
        self.engine = engine
        self.limits = limits
        clientLog = log
        deadlines = Deadlines(timeouts)
        poller = try Poller()
        try poller.add(bell.descriptor, .input, token: EventFD.token, &calls)
    }

    // MARK: - Turns

    /// Dispatch reports that something is ready.
    func wakeUp() {
        var turns = 0
        var groupBegan = MonotonicClock.nanoseconds
        turn.givesBack = false
        gathersTurns = true
        while turns < LoopLimits.turnsPerWakeUp, !turn.givesBack {
            var count = poller.poll(&calls)
            if count == 0, !hasWork {
                let isWritten = writeLog()
                groupBegan = MonotonicClock.nanoseconds
                // Clients that waited for the next batch go on.
                if isWritten || hasWork { continue }
                if busyPoll.looksAgain(now: MonotonicClock.nanoseconds) { continue }
                // Being woken here takes one thread switch less than being woken by Dispatch.
                count = poller.poll(milliseconds: timeToStay(), &calls)
                if count == 0 { break }
            }
            takeTurn(events: count)
            let now = MonotonicClock.milliseconds
            pulse?.turnEnded(now: now)
            measureMemory(now: now)
            let end = MonotonicClock.nanoseconds
            engine.statistics.timings.turn.record(end - turn.began)
            busyPoll.somethingCame(now: end)
            turns += 1
            if end - groupBegan > LoopLimits.groupNanoseconds {
                coordinator?.turnEnded()
                groupBegan = end
            }
        }
        gathersTurns = false
        coordinator?.turnEnded()
        if !hasWork { rest() }
        armTimer()
        callWhenEmpty()
        // The queue has been released once; if work is left, the loop continues.
        if hasWork { bell.ring() }
    }

    /// Passes what was committed to the log; true if it has been written already, and replies that waited for it are sent.
    private func writeLog() -> Bool {
        guard let coordinator else { return false }
        // While the loop stops, the log is closed as soon as the last client has gone.
        let standIn = whenEmpty == nil ? standIn : nil
        guard coordinator.turnEnded(atOnce: standIn) else { return false }
        // Other turns may have been taken meanwhile.
        gathersTurns = true
        flush()
        // Whoever has just been answered sends the next request soon.
        busyPoll.somethingCame(now: MonotonicClock.nanoseconds)
        return true
    }

    /// Whether there is work to do although no socket is ready.
    var hasWork: Bool { engine.hasWork || !order.isEmpty || cluster?.hasUnheard == true }

    /// No work is left: unused memory is released soon.
    private func rest() {
        guard let meter else { return }
        meter.rest(now: MonotonicClock.milliseconds, work: engine.totalWork)
        giveMemoryBack()
    }

    /// Releases unused memory, if it is time.
    func giveMemoryBack() {
        let now = MonotonicClock.milliseconds
        guard let meter, let due = meter.due, due <= now else { return }
        engine.giveBackMemory()
        meter.trim(now: now)
        engine.noteMemory(meter.bytes)
    }

    private func measureMemory(now: Int) {
        guard let meter, meter.measure(now: now, limit: limits.daemon.memory) else { return }
        engine.noteMemory(meter.bytes)
    }

    /// How long to wait for sockets before the queue is released and the loop sleeps without end, in milliseconds.
    private func timeToStay() -> Int {
        guard whenEmpty == nil else { return 0 }
        var stay = LoopLimits.stay
        if let due = nextDue() { stay = min(stay, max(0, due - MonotonicClock.milliseconds)) }
        if let due = engine.nextTimer { stay = min(stay, max(0, due - WallClock.now)) }
        return stay
    }

    private func takeTurn(events count: Int) {
        beginTurn()
        turn.begin(at: MonotonicClock.nanoseconds)
        let length = engine.isShared ? LoopLimits.sharedTurnNanoseconds : LoopLimits.turnNanoseconds
        let end = turn.began + length
        engine.tickIfDue()
        cluster?.tickIfDue(now: turn.began / 1_000_000)
        var hasLogSpoken = cluster?.hasUnheard == true
        for index in 0..<count {
            let (token, interest) = poller.event(index)
            if token == EventFD.token {
                if bell.heard() { turn.givesBack = true }
                coordinator?.hear()
                hasLogSpoken = true
            } else if token & Acceptor.tokenMark != 0 {
                accept(from: acceptors[Int(token ^ Acceptor.tokenMark)])
            } else if let id = connections.find(token) {
                serve(id, interest)
                if index % LoopLimits.eventsPerLook == 0
                    || engine.workOfTurn &- turn.workAtLook > LoopLimits.workPerLook
                {
                    if lookAtClock() > end { engine.closeTurn() }
                }
            } else if token == MapFiles.token {
                hearOfMaps()
            }
        }
        if hasLogSpoken, let cluster {
            cluster.hear()
            // What the shared log brings has a part of the turn of its own: else those who wait would be served only when it is
            // silent.
            beginTurn()
            turn.look(at: MonotonicClock.nanoseconds, work: engine.workOfTurn)
        }
        engine.relieveMemory()
        // However long the sockets took, waiting connections have their share of the turn.
        serveWaiting(until: max(end, MonotonicClock.nanoseconds + length / 2))
        flush()
    }

    /// Serves waiting connections, the one with the least share first, as long as the turn has room.
    private func serveWaiting(until end: Int) {
        engine.reopenTurn()
        var latest: ConnectionID?
        while engine.hasWork, engine.turnHasRoom, lookAtClock(after: latest) < end {
            latest = engine.serveNext()
            guard let latest, let connection = connections[latest] else { continue }
            read(latest, connection.descriptor)
        }
    }

    /// Reads the clock, because estimates of work may be too low: the time since the last look is reported to the engine, and
    /// charged to the connection that was read meanwhile, where it is more than what was counted for it.
    private func lookAtClock(after connection: ConnectionID? = nil) -> Int {
        let now = MonotonicClock.nanoseconds
        let time = now - turn.lookedAt
        engine.noteTime(time)
        if let connection, connections[connection] != nil {
            let uncounted = time &- (engine.workOfTurn &- turn.workAtLook)
            if uncounted > 0 { engine.charge(min(uncounted, LoopLimits.mostUncounted), to: connection) }
        }
        turn.look(at: now, work: engine.workOfTurn)
        return now
    }

    /// The clock is read once per turn: all commits of one turn have one time.
    func beginTurn() {
        turn.begin()
        engine.beginTurn(at: wall.read())
    }

    // MARK: - One connection

    /// A socket is ready, for reading, for writing, or because its peer is gone.
    private func serve(_ id: ConnectionID, _ ready: Poller.Interest) {
        guard let connection = connections[id] else { return }
        if ready.contains(.output) { engine.noteRoom(id) }
        if !connection.inputEnded, case .reading = engine.status(of: id) {
            // A peer that is gone may have left requests behind; they count, and its end comes after them.
            if !ready.isDisjoint(with: .gone) { losePeer(id) }
            if ready != .output {
                guard engine.isUncontended else { return engine.awaitTurn(id) }
                read(id, connection.descriptor)
            }
            if ready == .input { return }
        } else if !ready.isDisjoint(with: .gone) {
            losePeer(id)
        }
        look(at: id)
    }

    /// The client no longer reads; what it has sent still counts.
    func loseOutput(_ id: ConnectionID) {
        guard let connection = connections[id], connection.output != .lost else { return }
        connections.update(id) { $0.output = .lost }
        engine.losePeer(of: id)
        look(at: id)
    }

    /// The peer is gone in both directions. Its input is read in its turn, until there is none left.
    private func losePeer(_ id: ConnectionID) {
        guard let connection = connections[id], !connection.isUnwatched else { return }
        connections.update(id) { $0.isUnwatched = true }
        poller.remove(connection.descriptor, &calls)
        loseOutput(id)
    }

    private func read(_ id: ConnectionID, _ descriptor: Int32) {
        switch SystemCall.receive(descriptor, into: buffers.input, &calls) {
        case .bytes(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: buffers.input[..<count])
            guard connections[id]?.output == .socket else { return receiveOtherwise(id, bytes) }
            guard probe.isIdle else { return engine.receive(id, bytes) }
            let before = engine.outputProgress(of: id).written
            engine.receive(id, bytes)
            probe.executed(
                id, before: before, after: engine.outputProgress(of: id).written, readAt: turn.lookedAt)
        case .end:
            connections.update(id) { $0.inputEnded = true }
            engine.endOfInput(id)
            look(at: id)
        case .wouldBlock:
            // The socket is no longer watched, so more input would not be reported.
            if connections[id]?.isUnwatched == true { close(id, .peerLost) }
        case .failed:
            close(id, .peerLost)
        }
    }

    /// Checks a connection at the end of the turn.
    func look(at id: ConnectionID) {
        order.add(id, of: engine.userNumber(of: id), hasReply: engine.hasReply(id))
    }

    /// After a turn: waits for the events that the engine wants of this connection now, or closes it.
    func settle(_ id: ConnectionID, _ changed: Connection) {
        var connection = changed
        var hasOutput = engine.hasOutput(id)
        if connection.output == .secured, secured[id]?.hasOutput == true { hasOutput = true }
        let status = engine.status(of: id)
        switch status {
        case .closing where engine.isDiscarding(id):
            return close(id, .saidGoodbye)
        case .closing where !hasOutput && (!engine.holdsOutput(id) || connection.output == .lost):
            return close(id, connection.inputEnded ? .peerFinished : .saidGoodbye)
        case .closing, .blocked, .reading:
            break
        }
        let reads = if case .reading = status { !connection.inputEnded } else { false }
        // The client no longer reads, and there is nothing more to read from it.
        if connection.output == .lost, !reads, !hasOutput, !engine.hasUnfinishedInput(id) {
            return close(id, .peerLost)
        }
        if case .closing = status, !connection.isEnding {
            connection.isEnding = true
            deadlines.addGoodbye(connections.token(of: id), now: MonotonicClock.milliseconds)
        }

        if connection.isUnwatched {
            connections.update(id) { $0 = connection }
            if reads { engine.awaitTurn(id) }
            return
        }
        var interest: Poller.Interest = []
        if reads { interest.insert(.input) }
        if hasOutput, connection.output != .lost { interest.insert(.output) }
        if interest != connection.interest {
            poller.modify(connection.descriptor, interest, token: connections.token(of: id), &calls)
            connection.interest = interest
        }
        connections.update(id) { $0 = connection }
    }

    /// The one place where a connection is closed, for whatever reason.
    func close(_ id: ConnectionID, _ reason: CloseReason) {
        guard let connection = connections.remove(id) else { return }
        probe.forget(id)
        turn.count(flushed: LoopLimits.costOfClosing)
        if let transport = secured[id] {
            secured[id] = nil
            transport.end(connection.descriptor, &calls)
        }
        if reason.drains { drain(connection.descriptor) }
        SystemCall.close(connection.descriptor)
        let peer = engine.peer(of: id)
        coordinator?.forget(questionsOf: id)
        engine.disconnect(id)
        clientLog.debug("connection closed", peer, reason: reason.words)
    }

    /// Discards unread input: closing a socket with unread input would send the peer a reset and not an end of file.
    func drain(_ descriptor: Int32) {
        var left = LoopLimits.drained
        while left > 0, case .bytes(let count) = SystemCall.receive(descriptor, into: buffers.input, &calls) {
            left -= count
        }
    }
}
