import BusMachine
import BusProtocol

/// What is due happens: timers fire, and stores that nobody has touched for the time of their lease are dropped. Each is
/// a commit, in the order in which they are due.
extension Engine {
    /// Timers that are due wait for their turn like a connection: however many there are, nobody else waits for all.
    func queueDueTimers() {
        guard machine.nextDue <= clock.now, mayFire else { return }
        scheduler.enqueueTimers()
    }

    /// When timers are due next, in milliseconds since 1970; nil while none is, or while they wait for something else.
    package var nextTimer: Int? {
        let due = machine.nextDue
        return due == .max || !mayFire || scheduler.hasTimersQueued ? nil : due
    }

    /// On a shared bus the log says what fires when. Nothing fires while nothing can be committed: it is due as soon as that is possible again.
    private var mayFire: Bool {
        log.unavailableReason == nil && !log.isFull && !log.isShareFilled(of: users.daemon) && !shared.isOn
    }

    /// It is the turn of the timers: fires what is due, for one slice.
    func fireTimers() {
        let start = scheduler.beginSlice()
        let logged = log.mark
        defer {
            if log.isOn { log.charge(users.daemon, since: logged) }
            scheduler.endTimers(start)
        }
        while mayFire, !clock.isSliceUsedUp, machine.nextDue <= clock.now {
            let steps = machine.timers.steps
            let timer = machine.firstDue()
            clock.work += Work.timerStep * (machine.timers.steps - steps)
            if let timer, !fire(timer) { return scheduler.waitAtGate(.timers) }
        }
        queueDueTimers()
    }

    /// Fires a timer, or ends a lease; false if it will take long, and has to wait at the gate.
    private func fire(_ timer: BusTimer) -> Bool {
        let before = clock.work
        switch timer.purpose {
        case .lease(let length): endLease(timer, length)
        case .action(let action, _, let asker):
            let plan = Result { () throws(RequestError) in try machine.plan(timer) }
            if plannedWork() >= DaemonLimits.longRequest, scheduler.isGateClosed(to: -1) {
                machine.plan.clear()
                return false
            }
            let principal = asker.firing(timer.name)
            clock.work += Work.request + Work.batchAction
            machine.take(timer)
            do throws(RequestError) {
                try plan.get()
                if let grants = access.grants(of: asker) { try machine.addConditions(grants) }
                try machine.requireBudget(limits.bus.commit)
                _ = try apply(by: principal)
                commit(fired: timer, by: principal, actions: true)
            } catch {
                // What was rolled back is the removal of the timer, too.
                if timer.isSet { machine.take(timer) }
                machine.plan.clear()
                commit(fired: timer, by: principal, actions: false)
                report(error, of: timer, action, by: asker)
            }
            machine.plan.clear()
        }
        let done = clock.work - before
        if done >= DaemonLimits.longRequest { scheduler.closeGate(after: done) }
        return true
    }

    private func commit(fired timer: BusTimer, by principal: Principal, actions: Bool) {
        let details = CommitDetails()
        details.timer = .fired(timer)
        commit(by: principal, actions: actions, details)
    }

    private func report(
        _ error: RequestError, of timer: BusTimer, _ action: String, by asker: Principal
    ) {
        let owner = machine.name(of: timer.owner)
        outputs.report(
            Diagnostic(
                kind: .timerRejected, level: .warning,
                message: "The timer \(timer.name) of \(owner) is gone, and \(action) was not committed: "
                    + error.message,
                peer: asker.peer, store: error.detail("store"), action: action, revision: machine.revision))
    }

    private func endLease(_ timer: BusTimer, _ length: Int) {
        guard case .store(let store) = timer.owner else {
            preconditionFailure("A lease is a store's.")
        }
        let address = machine.address(of: Int(store))
        machine.plan.clear()
        let details = CommitDetails()
        details.dropped = [store]
        commit(by: .daemon, actions: false, details)
        guard outputs.reportsFrom <= .info else { return }
        outputs.report(
            Diagnostic(
                kind: .storeDropped, level: .info,
                message:
                    "\(address) was dropped: no dispatch reached it for \(DurationText.seconds(length)) s.",
                store: address, revision: machine.revision))
    }
}
