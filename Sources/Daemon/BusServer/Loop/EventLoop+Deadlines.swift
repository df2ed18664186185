import BusEngine
import BusProtocol
import BusSystem

/// What happens because time passes. There is one timer, and only while something is due; and one for the timers of the
/// bus, which go by the time of day.
extension EventLoop {
    /// Arms the timers for the next thing that is due.
    func armTimer() {
        timer?.arm(for: nextDue())
        wallTimer?.arm(for: engine.nextTimer)
    }

    /// When something is due next, in monotonic milliseconds; nil while nothing is.
    func nextDue() -> Int? {
        var due = deadlines.next(
            hello: { connections.find($0).map { connections[$0]!.awaitsHello } ?? false },
            goodbye: { connections.find($0) != nil })
        if let engineDue = engine.nextDeadline {
            let wait = max(0, engineDue - wall.latest)
            due = min(due ?? .max, MonotonicClock.milliseconds + wait)
        }
        if let timer = engine.nextTimer {
            // Its own timer goes by the clock, which may be behind, or be set back meanwhile.
            let look = wall.moment(of: timer) ?? MonotonicClock.milliseconds + LoopLimits.clockLook
            due = min(due ?? .max, look)
        }
        if let strangersDue = strangers?.nextDue { due = min(due ?? .max, strangersDue) }
        if let pulseDue = pulse?.due { due = min(due ?? .max, pulseDue) }
        if let cluster { due = min(due ?? .max, cluster.due) }
        if let coordinator { due = min(due ?? .max, coordinator.nextLook) }
        // While there is work to do, no memory is released.
        if !hasWork, let meterDue = meter?.due { due = min(due ?? .max, meterDue) }
        return due
    }

    /// Does what is due, where Dispatch can't call for it.
    func checkDeadlines() {
        let isDue = nextDue().map { $0 <= MonotonicClock.milliseconds } ?? false
        let isTimerDue = engine.nextTimer.map { $0 <= WallClock.now } ?? false
        if isDue || isTimerDue { deadlinesPassed() }
    }

    /// The timer fired.
    func deadlinesPassed() {
        beginTurn()
        let now = MonotonicClock.milliseconds
        let before = (engine.revision, connections.count)
        engine.tick()
        cluster?.tickIfDue(now: now)
        if let coordinator, now >= coordinator.nextLook { coordinator.look(now: now) }
        strangersDue(now: now)
        while let token = deadlines.takeDueHello(now: now) {
            guard let id = connections.find(token), connections[id]!.awaitsHello else { continue }
            endUnlessEnding(id, .protocol, "Say hello with a token directly after connecting.")
        }
        while let token = deadlines.takeDueGoodbye(now: now) {
            if let id = connections.find(token) { close(id, .goodbyeTimedOut) }
        }
        if let time = deadlines.acceptAgain, time <= now { resumeAccepting() }
        flush()
        if !hasWork { giveMemoryBack() }
        let after = MonotonicClock.milliseconds
        if before == (engine.revision, connections.count) {
            pulse?.beat(now: after)
        } else {
            pulse?.turnEnded(now: after)
        }
        armTimer()
        callWhenEmpty()
        if hasWork { bell.ring() }
    }

    /// Sends a goodbye, unless that was done before.
    func endUnlessEnding(_ id: ConnectionID, _ code: GoodbyeCode, _ message: String) {
        if case .closing = engine.status(of: id) { return }
        engine.goodbye(id, code, message)
    }
}
