/// Time-outs and other deadlines.
extension ClientSession {
    /// Does what is due at this time.
    package mutating func tick(at now: Int) {
        guard phase != .ended else { return }
        if now >= requests.earliestDeadline { timeOut(at: now) }
        for index in ephemeralStores.indices {
            if phase == .restoring, let due = ephemeralStores[index].due, due <= now {
                restorationsLeft -= 1
                restoreStore(index)
            }
        }
        watchConnection(at: now)
        if isClosing, now >= closeDeadline || isIdle && hasLeft() { finish(nil) }
    }

    /// When the next `tick` is due; nil: not before something else happens.
    package func nextWake() -> Int? {
        guard phase != .ended else { return nil }
        var next = requests.earliestDeadline
        if isClosing { next = min(next, closeDeadline) }
        switch phase {
        case .disconnected: next = min(next, attempts.next)
        case .greeting: next = min(next, attempts.helloDeadline)
        case .restoring, .open, .ended:
            guard let keepAlive = options.keepAlive?.nanoseconds else { break }
            next = min(next, (probedAt ?? lastHeard) + keepAlive)
        }
        if phase == .restoring {
            for store in ephemeralStores { if let due = store.due { next = min(next, due) } }
        }
        return next == .max ? nil : next
    }

    /// Whether nothing is left on the bus that would linger there; if there is something, the bus is asked to keep it no
    /// longer than the connection.
    private mutating func hasLeft() -> Bool {
        guard phase == .open, linger != nil, will != nil || !ephemeralStores.isEmpty else { return true }
        if leaving == .no {
            leaving = .asked
            requests.own.append(Submission(.request(hello(linger: .zero)), role: .leave))
        }
        return leaving == .answered
    }

    /// Closes the session when all that was submitted is answered, or at the deadline.
    package mutating func close(by deadline: Int) {
        guard phase != .ended else { return }
        isClosing = true
        closeDeadline = min(closeDeadline, deadline)
    }

    private mutating func watchConnection(at now: Int) {
        guard phase != .disconnected, phase != .ended, disconnectReason == nil else { return }
        if phase == .greeting {
            guard now >= attempts.helloDeadline else { return }
            return violated(BusError(.timedOut, "The bus did not answer hello in the time allowed."))
        }
        guard let keepAlive = options.keepAlive?.nanoseconds else { return }
        // However late it is, as where this program stood still: the bus is asked before it is given up.
        guard now - (probedAt ?? lastHeard) >= keepAlive else { return }
        if probedAt != nil {
            return violated(BusError(.timedOut, "The bus has not said anything for a long time."))
        }
        probedAt = now
        requests.own.append(Submission(.request(BusRequest("ping")), role: .probe))
    }

    private mutating func timeOut(at now: Int) {
        var earliest = Int.max
        var hasWaiting = false
        func check(_ submission: Submission, isWritten: Bool) -> SessionEffect? {
            guard !submission.isSettled else { return nil }
            guard submission.deadline <= now else {
                earliest = min(earliest, submission.deadline)
                return nil
            }
            return .settle(submission, .failure(Self.timedOut(isWritten: isWritten)))
        }
        for sent in requests.unanswered.elements where !sent.submission.role.isOwn {
            if let effect = check(sent.submission, isWritten: true) { effects.append(effect) }
        }
        for sent in requests.resending.elements {
            if let effect = check(sent.submission, isWritten: sent.mayBeCommitted) {
                effects.append(effect)
                hasWaiting = true
            }
        }
        for submission in requests.waiting.elements {
            if let effect = check(submission, isWritten: false) {
                effects.append(effect)
                hasWaiting = true
            }
        }
        for index in ephemeralStores.indices {
            if let pending = ephemeralStores[index].pending, let effect = check(pending, isWritten: true) {
                effects.append(effect)
            }
        }
        requests.earliestDeadline = earliest
        needsWithdrawal = needsWithdrawal || hasWaiting
    }

    static func timedOut(isWritten: Bool) -> BusError {
        isWritten
            ? BusError(
                .timedOut,
                "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.",
                details: ["written": true])
            : BusError(
                .timedOut, "The request could not be sent in the time allowed; it was not committed.",
                details: ["written": false])
    }
}
