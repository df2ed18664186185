internal import BusSystem
import Glibc

/// The thread of one bus: it owns the session and the connection, moves bytes between them, and executes the session's
/// effects, in their order. Callbacks run here.
///
/// One turn: take what was submitted, write it with one call, wait, read what came, settle it. A sender only
/// wakes the thread when it sleeps.
final class BusThread {
    private let core: BusCore
    private var session: ClientSession
    private var connection: BusConnection?
    private var submissions: [Submission] = []
    private var commands: [Intake.Command] = []
    /// Requests that left the session since the intake was last updated, and their bytes.
    private var released = 0
    private var releasedBytes = 0
    private var pauses: [Int] = []
    /// Some requests are settled that have not been written; removed once for all of a turn.
    private var withdraws = false

    private init(_ core: BusCore, token: String?, seed: UInt64) {
        self.core = core
        session = ClientSession(
            options: core.options, token: token, addressCount: core.addresses.count, seed: seed,
            now: MonotonicClock.nanoseconds)
    }

    static func start(_ core: BusCore, token: String?, seed: UInt64) throws(BusError) {
        let name = core.options.client.map { "fluxbus \($0)" } ?? "fluxbus"
        try detach(named: name) { BusThread(core, token: token, seed: seed).run() }
    }

    static func detach(named name: String, _ body: @escaping @Sendable () -> Void) throws(BusError) {
        do throws(SystemError) {
            try SystemThread.start(named: name, body)
        } catch {
            throw BusError(
                .limit,
                "No thread can be started for a bus (\(error.reason)); use fewer threads, or allow more.")
        }
    }

    private func run() {
        perform()
        while !session.hasEnded {
            takeOver()
            session.tick(at: MonotonicClock.nanoseconds)
            perform()
            if session.hasEnded { break }
            connectIfWanted()
            if let connection {
                move(connection)
            } else {
                sleep()
            }
        }
        connection = nil
        end()
    }

    // MARK: - Submitted work

    private func takeOver() {
        let unsent = session.requests.waitingBytes + (connection?.unsentBytes ?? 0)
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
        case .close(let deadline): session.close(by: deadline)
        }
    }

    // MARK: - The connection

    private func connectIfWanted() {
        let now = MonotonicClock.nanoseconds
        guard connection == nil, session.wantsConnection(at: now) else { return }
        session.connecting()
        do throws(BusError) {
            let wait = ConnectWait(
                until: Deadline(after: core.options.connectTimeout), wakeUp: core.wakeUp.descriptor,
                turn: turnWhileConnecting)
            let first = core.usedAddress.load(ordering: .relaxed)
            let order = Array(core.addresses[first...] + core.addresses[..<first])
            let opened = try BusConnection(opening: order, core.options.tls, wait)
            connection = opened
            if let used = core.addresses.firstIndex(of: opened.address) {
                core.usedAddress.store(used, ordering: .relaxed)
            }
            session.connected(at: MonotonicClock.nanoseconds)
        } catch {
            session.connectFailed(error, at: MonotonicClock.nanoseconds)
        }
        perform()
    }

    /// Submitted work and time-outs don't wait for a connection. Returns the longest wait; nil when the
    /// connection is not wanted any more.
    private func turnWhileConnecting() -> Deadline? {
        core.wakeUp.clear()
        takeOver()
        session.tick(at: MonotonicClock.nanoseconds)
        perform()
        return session.hasEnded ? nil : deadline()
    }

    private func move(_ connection: BusConnection) {
        session.write(to: connection.outgoing, room: core.options.unsentBytes)
        perform()
        do throws(BusError) {
            if let reason = session.disconnectReason { throw reason }
            let wakeup = try connection.wait(input: core.wakeUp.descriptor, until: deadline())
            if wakeup.input { core.wakeUp.clear() }
            let now = MonotonicClock.nanoseconds
            while connection.takeLineIfReady({ session.receive($0, at: now) }) {
                perform()
                if session.disconnectReason != nil { break }
            }
            if let reason = session.disconnectReason { throw reason }
        } catch {
            self.connection = nil
            if session.phase == .greeting {
                // The next one may say more.
                let next = core.usedAddress.load(ordering: .relaxed) + 1
                core.usedAddress.store(next % core.addresses.count, ordering: .relaxed)
            }
            session.lost(error, sent: connection.totalSent, at: MonotonicClock.nanoseconds)
            perform()
        }
    }

    /// How long to wait: not at all if something was submitted meanwhile. From here on, a sender wakes this thread.
    private func deadline() -> Deadline {
        let released = released
        let (hasWork, lineDeadline) = core.intake.withLock { intake in
            let hasWork =
                !intake.submissions.isEmpty || !intake.commands.isEmpty
                || (released > 0 && !intake.line.isEmpty)
            intake.isAsleep = !hasWork
            return (hasWork, intake.lineDeadline)
        }
        if hasWork || session.hasEnded { return Deadline(after: .zero) }
        let wake = min(session.nextWake() ?? .max, lineDeadline)
        guard wake < .max else { return .never }
        return Deadline(after: .nanoseconds(max(0, wake - MonotonicClock.nanoseconds)))
    }

    private func sleep() {
        core.wakeUp.wait(milliseconds: deadline().pollTimeout)
        core.wakeUp.clear()
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
        case .event(let request, let event, let size):
            if request.receive(event, size) == .rest { pauses.append(request.number) }
        case .greeted(let greeting): core.state.withLock { $0.greeting = greeting }
        case .status(let status): core.set(status)
        case .notice(let notice): core.announce(notice)
        }
    }

    /// Accepts nothing more; queued requests fail.
    private func end() {
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
        core.ended()
    }
}
