import BusCommands
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
        guard commands.fire(timer, grants: { access.grants(of: $0) }, local.here(for: nil)) else {
            return false
        }
        let done = clock.work - before
        if done >= DaemonLimits.longRequest { scheduler.closeGate(after: done) }
        return true
    }
}
