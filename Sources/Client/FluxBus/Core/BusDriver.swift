import BusJSON
internal import BusTime

/// The work of one bus on top of its transport: it owns the session, takes over what was submitted, and executes the session's
/// effects in their order. Callbacks run where the transport calls it.
///
/// ``Transport`` says which calls make a turn. A sender only wakes the transport while it waits.
package final class BusDriver {
    private let core: BusCore
    private var session: ClientSession
    private var submissions: [Submission] = []
    private var commands: [Intake.Command] = []
    /// Requests that left the session since the intake was last updated, and their bytes.
    private var released = 0
    private var releasedBytes = 0
    private var pauses: [Int] = []
    /// Some requests are settled that have not been written; removed once for all of a turn.
    private var withdraws = false

    init(_ core: BusCore, token: String?, seed: UInt64) {
        self.core = core
        session = ClientSession(
            options: core.options, token: token, addressCount: core.addresses.count, seed: seed,
            now: MonotonicClock.nanoseconds)
    }

    package var options: BusOptions { core.options }

    /// Whether nothing is left to do but ``end()``.
    package var hasEnded: Bool { session.hasEnded }

    /// Whether no request waits for its answer, or to be sent.
    package var isIdle: Bool { session.isIdle }

    /// Takes over what was submitted, and does what is due.
    ///
    /// - Parameter unsent: How many bytes wait in the transport to be sent.
    package func turn(unsent: Int) {
        takeOver(unsent: unsent)
        session.tick(at: MonotonicClock.nanoseconds)
        perform()
    }

    /// When the next turn is due, in nanoseconds of the monotonic clock: 0 at once, `Int.max` never. From here on, a sender wakes
    /// the transport.
    package func nextTurn() -> Int {
        let released = released
        let (hasWork, lineDeadline) = core.intake.withLock { intake in
            let hasWork =
                !intake.submissions.isEmpty || !intake.commands.isEmpty
                || (released > 0 && !intake.line.isEmpty)
            intake.isAsleep = !hasWork
            return (hasWork, intake.lineDeadline)
        }
        if hasWork || session.hasEnded { return 0 }
        return min(session.nextWake() ?? .max, lineDeadline)
    }

    // MARK: - Submitted work

    private func takeOver(unsent: Int) {
        let unsent = session.requests.waitingBytes + unsent
        let now = MonotonicClock.nanoseconds
        let (awake, late, isLineEmpty) = core.intake.withLock { intake in
            intake.isAsleep = false
            let late = intake.takeLate(at: now)
            let awake = intake.release(released, bytes: releasedBytes, unsent: unsent)
            swap(&intake.submissions, &submissions)
            swap(&intake.commands, &commands)
            return (awake, late, intake.line.isEmpty)
        }
        session.expectsMore = !isLineEmpty
        released = 0
        releasedBytes = 0
        for waiting in late {
            waiting.submission.settle(.failure(ClientSession.timedOut(isWritten: false)))
            waiting.admission?.end()
        }
        for admission in awake { admission.end() }
        for submission in submissions { session.submit(submission) }
        submissions.removeAll(keepingCapacity: true)
        for command in commands { carryOut(command) }
        commands.removeAll()
        if withdraws {
            withdraws = false
            core.intake.withLock { $0.forgetSettled() }
            session.withdrawSettled()
        }
    }

    private func carryOut(_ command: Intake.Command) {
        switch command {
        case .cancelSubscription(let number): session.cancelSubscription(number)
        case .continueSubscription(let number): session.goOn(number)
        case .withdrawSettled: withdraws = true
        case .reconnect: session.reconnect()
        case .close(let deadline): session.close(by: deadline)
        }
    }

    // MARK: - The connection

    /// The addresses of the bus in the order in which they are to be tried, where a connection is to be opened now; else nil.
    /// The attempt ends with ``connected(to:)`` or ``connectFailed(_:)``.
    package func beginConnecting() -> [BusAddress]? {
        guard session.wantsConnection(at: MonotonicClock.nanoseconds) else { return nil }
        session.connecting()
        let first = core.usedAddress.load(ordering: .relaxed)
        return Array(core.addresses[first...] + core.addresses[..<first])
    }

    package func connected(to address: BusAddress) {
        if let used = core.addresses.firstIndex(of: address) {
            core.usedAddress.store(used, ordering: .relaxed)
        }
        session.connected(at: MonotonicClock.nanoseconds)
        perform()
    }

    package func connectFailed(_ error: BusError) {
        session.connectFailed(error, at: MonotonicClock.nanoseconds)
        perform()
    }

    /// Appends whole lines that are to be sent to those that wait already, as far as the options give room.
    package func write(to writer: ByteWriter) {
        session.write(to: writer, room: core.options.unsentBytes)
        perform()
    }

    /// Bytes have come, be it a part of a line: the bus is alive.
    package func heard(at now: Int) { session.heard(at: now) }

    /// Takes a line that has come, without its end. The bytes are not kept.
    package func receive(_ line: UnsafeRawBufferPointer, at now: Int) {
        session.receive(line, at: now)
        perform()
    }

    /// Why the connection is to be closed; the lines that have come since are not wanted.
    package var disconnectReason: BusError? { session.disconnectReason }

    /// The connection has failed, or was closed for the driver's reason.
    ///
    /// - Parameter sent: How many bytes were sent on it.
    package func lost(_ error: BusError, sent: Int) {
        if session.phase == .greeting {
            // The next one may say more.
            let next = core.usedAddress.load(ordering: .relaxed) + 1
            core.usedAddress.store(next % core.addresses.count, ordering: .relaxed)
        }
        session.lost(error, sent: sent, at: MonotonicClock.nanoseconds)
        perform()
    }

    // MARK: - Effects of the session

    /// Executes the effects in their order.
    private func perform() {
        while !session.effects.isEmpty {
            var effects: [SessionEffect] = []
            swap(&effects, &session.effects)
            for effect in effects { perform(effect) }
            if session.effects.isEmpty {
                effects.removeAll(keepingCapacity: true)
                swap(&effects, &session.effects)
            }
            for number in pauses { session.pause(number) }
            pauses = []
            if session.needsWithdrawal {
                session.needsWithdrawal = false
                session.withdrawSettled()
            }
        }
        core.revision.store(session.seenRevision, ordering: .relaxed)
    }

    private func perform(_ effect: SessionEffect) {
        switch effect {
        case .complete(let submission, let outcome):
            released += 1
            releasedBytes += submission.size
            submission.settle(outcome)
        case .settle(let submission, let outcome): submission.settle(outcome)
        case .ended: refuseQueued()
        case .event(let request, let event, let size):
            if request.receive(event, size) == .rest { pauses.append(request.number) }
        case .greeted(let greeting): core.state.withLock { $0.greeting = greeting }
        case .status(let status): core.set(status)
        case .notice(let notice): core.announce(notice)
        }
    }

    /// Accepts nothing more; queued requests fail.
    private func refuseQueued() {
        let (left, line) = core.intake.withLock { intake in
            intake.hasEnded = true
            intake.isClosing = true
            let left = intake.submissions
            intake.submissions = []
            return (left, intake.line.removeAll())
        }
        for submission in left { submission.settle(.failure(BusCore.closed)) }
        for waiting in line {
            waiting.submission.settle(.failure(BusCore.closed))
            waiting.admission?.end()
        }
    }

    /// Tells that all is over. Called once the driver has ended and its last connection is closed.
    package func end() { core.ended() }
}
