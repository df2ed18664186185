import BusMachine
import BusProtocol

/// The cost of a request is estimated in advance: the values in its line, the stores that a dispatch reaches, and what
/// the action cost there the last time. A request that will take long waits.
extension Engine {
    /// What the planned dispatch will cost, about.
    func plannedWork(isDryRun: Bool = false) -> Int {
        var work = 0
        // In place: a copy of a step would count references.
        let steps = machine.plan.steps.elements
        for index in steps.indices {
            let step = steps.baseAddress! + index
            let count = step.pointee.store >= 0 ? 1 : step.pointee.type.count
            let perStore = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef {
                $0.workPerStore(of: step.pointee.action)
            }
            work &+= count &* max(Work.commitStore, perStore)
            if isDryRun { work &+= count &* Work.dryRunStore }
            if step.pointee.store >= 0, knowsExpensive {
                work &+= expensive.cost(of: step.pointee.action, on: step.pointee.store)
            }
        }
        return work
    }

    /// A commit was made, or tried, with this many operations: records what its actions cost.
    @inline(__always)
    func noteOperations(_ operations: Int) {
        let cost = Work.operation &* operations
        clock.work &+= cost
        if cost >= DaemonLimits.notableCommit || knowsExpensive { noteCommit(costing: cost) }
    }

    private func noteCommit(costing cost: Int) {
        let reached = machine.plan.reach
        if reached == 0 { return }
        if reached == 1, let step = machine.plan.steps.elements.first, step.store >= 0 {
            expensive.note(cost, of: step.action, on: step.store)
            knowsExpensive = !expensive.isEmpty
        }
        if cost < DaemonLimits.notableCommit { return }
        // Several actions are assumed to cost the same each: together they cost what was measured.
        for step in machine.plan.steps.elements { step.type.noteWork(cost / reached, of: step.action) }
    }

    /// One thing took this many nanoseconds, whatever work was counted for it.
    package func noteTime(_ nanoseconds: Int) {
        if nanoseconds >= DaemonLimits.longRequest { scheduler.closeGate(after: nanoseconds) }
    }

    /// Whether a request of this cost has to wait, because others are served first; then its line is kept.
    ///
    /// A long request waits at the gate. One that takes more than a slice waits in the queue, at the place
    /// where it would end on the clock and not where it would begin: so small requests that come meanwhile are
    /// not held up by many such ones.
    @inline(__always)
    func mustWait(for cost: Int, _ connection: Connection, _ line: UnsafeRawBufferPointer) -> Bool {
        guard cost >= min(DaemonLimits.longRequest, clock.limits.sliceWork) else { return false }
        return mustLongRequestWait(for: cost, connection, line)
    }

    @inline(never)
    private func mustLongRequestWait(
        for cost: Int, _ connection: Connection, _ line: UnsafeRawBufferPointer
    ) -> Bool {
        if cost >= DaemonLimits.longRequest, scheduler.isGateClosed(to: connection.id) {
            keep(line, of: connection)
            connection.wait(for: .gate)
            scheduler.waitAtGate(.serve(connection))
            return true
        }
        guard cost >= clock.limits.sliceWork, connection.input.attempt != .deferred, scheduler.hasWork else {
            return false
        }
        keep(line, of: connection)
        connection.pause()
        scheduler.enqueue(connection, expecting: cost)
        return true
    }

    /// The same for a planned dispatch. One that reaches more stores than a commit may is refused.
    func mustWaitForPlan(_ connection: Connection, isDryRun: Bool = false) throws(RequestError) -> Bool {
        try machine.requireBudget(limits.bus.commit)
        return mustWait(for: plannedWork(isDryRun: isDryRun), connection, currentLine)
    }

    func keep(_ line: UnsafeRawBufferPointer, of connection: Connection) {
        connection.keep(line)
        connections.countKept(line.count)
    }

    /// Executes the request that waited, if it may pass the gate.
    func executeDeferredLine(of connection: Connection) {
        guard let line = connection.deferredLine else { return }
        if connection.waits.contains(.gate), scheduler.isGateClosed(to: connection.id) { return }
        forgetDeferredLine(of: connection)
        connection.input.retry(.deferred) {
            line.withUnsafeBytes { _ = execute(.line($0), for: connection) }
        }
    }

    func forgetDeferredLine(of connection: Connection) {
        guard let line = connection.deferredLine else { return }
        connections.countKept(-line.count)
        connection.forgetLine()
        if connection.waits.contains(.gate) { scheduler.leaveGate(connection) }
    }
}
