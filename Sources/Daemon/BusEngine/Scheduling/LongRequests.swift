import BusMachine
import BusProtocol

/// Requests that take long wait until others have had their time. What one costs is estimated in advance: the values in its
/// line, the stores that a dispatch reaches, and what the action cost there the last time.
final class LongRequests {
    private let machine: StateMachine
    private let clock: TurnClock
    private let scheduler: Scheduler
    private let connections: Connections
    /// Which actions of single stores were expensive lately, and whether any was.
    private let expensive = ExpensiveActions()
    @exclusivity(unchecked) private(set) var knowsExpensive = false

    init(_ machine: StateMachine, _ clock: TurnClock, _ scheduler: Scheduler, _ connections: Connections) {
        self.machine = machine
        self.clock = clock
        self.scheduler = scheduler
        self.connections = connections
    }

    // MARK: Costs

    /// What the planned dispatch will cost, about.
    func plannedWork(isTold: Bool = false) -> Int {
        var work = machine.plan.isCareful ? workOfCare : 0
        // In place: a copy of a step would count references.
        let steps = machine.plan.steps.elements
        for index in steps.indices {
            let step = steps.baseAddress! + index
            let count = machine.reach(ofStep: index)
            let perStore = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef {
                $0.workPerStore(of: step.pointee.action)
            }
            work &+= count &* max(Work.commitStore, perStore)
            if isTold { work &+= count &* Work.dryRunStore }
            if step.pointee.store >= 0, knowsExpensive {
                work &+= expensive.cost(of: step.pointee.action, on: step.pointee.store)
            }
        }
        return work
    }

    /// What conditions of clients cost, and the stores that are created and dropped.
    private var workOfCare: Int {
        Work.operation &* BusLimits.operationsPerConditionByte &* machine.plan.guardBytes
            &+ Work.create &* machine.plan.storeSteps.count
            &+ Work.commitStore &* machine.plan.choosable
    }

    /// A commit was made, or tried, with this many operations, after others that have been counted: records what
    /// its actions cost.
    @inline(__always)
    func noteOperations(_ operations: Int, after others: Int = 0) {
        clock.work &+= Work.operation &* operations
        let cost = Work.operation &* (operations &+ others)
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

    /// Something took this many nanoseconds, or this much work: if that was long, it closes the gate.
    func noteTime(_ nanoseconds: Int) {
        if nanoseconds >= DaemonLimits.longRequest { scheduler.closeGate(after: nanoseconds) }
    }

    // MARK: Waiting

    /// Whether something of this cost that no client waits for has to wait at the gate.
    func mustWaitAtGate(for cost: Int) -> Bool {
        cost >= DaemonLimits.longRequest && scheduler.isGateClosed(to: -1)
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
    func mustWaitForPlan(
        _ connection: Connection, _ line: UnsafeRawBufferPointer, isTold: Bool = false
    ) throws(RequestError) -> Bool {
        try machine.requireBudget()
        return mustWait(for: plannedWork(isTold: isTold), connection, line)
    }

    /// A request is executed later.
    func keep(_ line: UnsafeRawBufferPointer, of connection: Connection) {
        connection.keep(line)
        connections.countKept(line.count)
    }

    /// The request that waited, if it may pass the gate; it is kept no longer.
    func takeLine(of connection: Connection) -> [UInt8]? {
        if connection.waits.contains(.gate), scheduler.isGateClosed(to: connection.id) { return nil }
        defer { forgetLine(of: connection) }
        return connection.deferredLine
    }

    func forgetLine(of connection: Connection) {
        guard let line = connection.deferredLine else { return }
        connections.countKept(-line.count)
        connection.forgetLine()
        if connection.waits.contains(.gate) { scheduler.leaveGate(connection) }
    }
}
