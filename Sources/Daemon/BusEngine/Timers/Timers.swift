import BusCommands
import BusMachine
import BusProtocol

/// What is due happens: timers fire, and stores that nobody has touched for the time of their lease are dropped. Each is
/// a commit, in the order in which they are due.
final class Timers {
    private let machine: StateMachine
    private let clock: TurnClock
    private let scheduler: Scheduler
    private let users: Users
    private let log: LogGate
    private let access: AccessControl
    private let long: LongRequests
    private let commands: Commands
    private let host: LocalHost
    /// False: the bus is shared, and its log says what time it is, and what fires when.
    @exclusivity(unchecked) private var isOurs = true

    init(
        _ machine: StateMachine, _ clock: TurnClock, _ scheduler: Scheduler, _ users: Users, _ log: LogGate,
        _ access: AccessControl, _ long: LongRequests, _ commands: Commands, _ host: LocalHost
    ) {
        self.machine = machine
        self.clock = clock
        self.scheduler = scheduler
        self.users = users
        self.log = log
        self.access = access
        self.long = long
        self.commands = commands
        self.host = host
    }

    func leaveToLog() { isOurs = false }

    /// A turn begins, and with it another moment.
    func advance() { if isOurs { machine.advance(to: clock.now) } }

    /// Timers that are due wait for their turn like a connection: however many there are, nobody else waits for all.
    func queueDue() {
        guard machine.nextDue <= clock.now, mayFire else { return }
        scheduler.enqueueTimers()
    }

    /// When timers are due next, in milliseconds since 1970; nil while none is, or while they wait for something else.
    var next: Int? {
        let due = machine.nextDue
        return due == .max || !mayFire || scheduler.hasTimersQueued ? nil : due
    }

    /// Nothing fires while nothing can be committed: it is due as soon as that is possible again.
    private var mayFire: Bool {
        log.unavailableReason == nil && !log.isFull && !log.isShareFilled(of: users.daemon) && isOurs
    }

    /// It is the turn of the timers: fires what is due, for one slice.
    func fire() {
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
        queueDue()
    }

    /// Fires a timer, or ends a lease; false if it will take long, and has to wait at the gate.
    private func fire(_ timer: BusTimer) -> Bool {
        let before = clock.work
        let host = host.here(for: nil)
        guard commands.fire(timer, grants: { access.grants(of: $0) }, host) else { return false }
        host.finish()
        long.noteTime(clock.work - before)
        return true
    }
}
