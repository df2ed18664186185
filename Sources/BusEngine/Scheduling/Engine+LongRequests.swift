import BusJSON
import BusProtocol

/// One request can't be interrupted where it reads a line or makes a commit, so how long that may be is bounded, and long
/// ones are rare while others are at work.
///
/// What a request will cost is known about before: how much is in its line, how many stores a dispatch reaches, and what the
/// action cost there the last time. A *long* one passes a gate, which everything long closes for a hundred times what it
/// took. Nobody waits there who is alone on the bus.
extension Engine {
    /// Input has come from a connection: it is at work.
    @inline(__always)
    func noteActivity(of connection: Connection) {
        if latestActive == connection.id {
            latestActiveAt = now
        } else {
            (otherActive, otherActiveAt) = (latestActive, latestActiveAt)
            (latestActive, latestActiveAt) = (connection.id, now)
        }
    }

    /// Whether others than this connection were at work lately.
    private func isOtherActive(than id: ConnectionID) -> Bool {
        let at = latestActive == id ? otherActiveAt : latestActiveAt
        return now - at < Limits.activeMilliseconds
    }

    /// Whether long commits of a connection have to wait.
    func isGateClosed(to id: ConnectionID) -> Bool { now < gateOpensAt && isOtherActive(than: id) }

    /// What the planned dispatch will cost, about.
    func plannedWork(isDryRun: Bool = false) -> Int {
        var work = 0
        // In place: a copy of a step would count references.
        let steps = plan.steps.elements
        for index in steps.indices {
            let step = steps.baseAddress! + index
            let count = step.pointee.store >= 0 ? 1 : step.pointee.type.count
            let perStore = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef {
                $0.workPerStore(of: step.pointee.action)
            }
            work &+= count &* max(Work.commitStore, perStore)
            if isDryRun { work &+= count &* Work.dryRunStore }
        }
        return work
    }

    /// Whether the planned dispatch reaches more than one store.
    @inline(__always)
    var isPlanWide: Bool {
        guard plan.steps.count == 1 else { return plan.steps.count > 1 }
        // In place: a copy of a step would count references.
        let step = plan.steps.elements.baseAddress!
        if step.pointee.store >= 0 { return false }
        return Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { $0.count > 1 }
    }

    /// A commit was made, or tried, with so many operations: notes what its actions cost.
    @inline(__always)
    func noteCommitWork(_ operations: Int) {
        let cost = Work.operation &* operations
        work &+= cost
        if cost >= Limits.notableCommit { noteCommit(costing: cost) }
    }

    private func noteCommit(costing cost: Int) {
        let reached = plan.steps.elements.reduce(0) { $0 + ($1.store >= 0 ? 1 : $1.type.count) }
        if reached == 0 { return }
        // Of several actions each is taken to cost the same: together they cost what they did.
        for step in plan.steps.elements { step.type.noteWork(cost / reached, of: step.action) }
    }

    /// So many nanoseconds have passed for one thing, whatever work was counted for it.
    package func noteTime(_ nanoseconds: Int) {
        if nanoseconds >= Limits.longRequest { closeGate(after: nanoseconds) }
    }

    /// Something long was done.
    func closeGate(after cost: Int) {
        gateOpensAt = max(gateOpensAt, now + cost / 1_000_000 * Limits.pauseAfterLongRequest)
    }

    // MARK: Waiting

    /// Whether a request that will cost so much has to wait, as others are to be served first; then its line is kept.
    ///
    /// What is long waits at the gate. What takes more than a slice waits in the queue, at the place where it would end on the
    /// clock and not where it would begin: so small requests that come meanwhile are not held up by many such ones.
    func mustWait(for cost: Int, _ connection: Connection, _ line: UnsafeRawBufferPointer) -> Bool {
        if cost >= Limits.longRequest, isGateClosed(to: connection.id) {
            keep(line, of: connection)
            connection.waitsAtGate = true
            waitingAtGate.append(.serve(connection))
            return true
        }
        guard cost >= limits.sliceWork, !connection.isDeferredLineDue, hasWork else { return false }
        keep(line, of: connection)
        connection.isPaused = true
        connection.isQueued = true
        queue.add(.serve(connection), &connection.share, expecting: cost)
        return true
    }

    /// The same for a dispatch that is planned. What reaches more stores than a commit may is refused.
    func mustWaitForPlan(_ connection: Connection, isDryRun: Bool = false) throws(RequestError) -> Bool {
        try requireBudget(limits.commit)
        return mustWait(for: plannedWork(isDryRun: isDryRun), connection, currentLine)
    }

    private func keep(_ line: UnsafeRawBufferPointer, of connection: Connection) {
        connection.deferredLine = Array(line)
        heldBytes += line.count
        connection.isBlocked = true
    }

    /// Carries out the request that waited; false if it has to wait on.
    func carryOutDeferredLine(of connection: Connection) -> Bool {
        guard let line = connection.deferredLine else { return true }
        if connection.waitsAtGate, isGateClosed(to: connection.id) { return false }
        forgetDeferredLine(of: connection)
        connection.isBlocked = false
        connection.isDeferredLineDue = true
        line.withUnsafeBytes { _ = carryOut(.line($0), for: connection) }
        connection.isDeferredLineDue = false
        // It may have to wait for something else now.
        return !connection.isBlocked && connection.deferredLine == nil && !connection.isPaused
    }

    func forgetDeferredLine(of connection: Connection) {
        guard let line = connection.deferredLine else { return }
        heldBytes -= line.count
        connection.deferredLine = nil
        guard connection.waitsAtGate else { return }
        connection.waitsAtGate = false
        waitingAtGate.removeAll {
            if case .serve(let other) = $0 { other === connection } else { false }
        }
    }

    /// When somebody at the gate can go on, in milliseconds since 1970.
    var gateDeadline: Int? {
        waitingAtGate.isEmpty
            ? nil : max(min(gateOpensAt, otherActiveAt + Limits.activeMilliseconds), now + 1)
    }

    /// The gate is open: who waits longest goes on, and what that costs closes it again.
    func openGateIfDue() {
        guard let first = waitingAtGate.first else { return }
        // Who is alone by now need not wait any longer.
        let isIdle = now - otherActiveAt >= Limits.activeMilliseconds
        guard now >= gateOpensAt || isIdle else { return }
        switch first {
        case .serve(let connection): enqueue(connection)
        case .end(let connection):
            waitingAtGate.removeFirst()
            queue.add(.end(connection), &connection.share)
        case .sweep, .serveLost: waitingAtGate.removeFirst()
        }
    }
}
