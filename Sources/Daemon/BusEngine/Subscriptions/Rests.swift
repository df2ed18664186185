/// Connections whose subscriptions wait until they may take live changes again.
final class Rests {
    private let clock: TurnClock
    private let scheduler: Scheduler

    /// Subscriptions that fell behind lately because there were too many to notify; earlier ones count less.
    private var falls = 0
    private var decayedAt = 0
    private var resting: [Connection] = []
    /// When the first of them may, in milliseconds since 1970.
    private(set) var deadline: Int?

    init(_ clock: TurnClock, _ scheduler: Scheduler) {
        self.clock = clock
        self.scheduler = scheduler
    }

    /// A subscription has fallen behind because there were too many to notify: going live at once would put it in the
    /// way of the next commit again, so its next delivery follows after a pause. The pause grows with how many fall
    /// behind, up to where a commit spends little on it.
    func noteFall(of connection: Connection) {
        let passed = (clock.now - decayedAt) / DaemonLimits.fallDecayInterval
        if passed > 0 {
            // After this many nothing is left that counts.
            for _ in 0..<min(passed, 128) { falls -= falls >> 4 }
            decayedAt = clock.now
        }
        falls += 1
        connection.delivery.rest(until: clock.now + falls / DaemonLimits.fallsPerMillisecond)
    }

    func rest(_ connection: Connection) {
        guard connection.delivery.beginRest() else { return }
        resting.append(connection)
        deadline = min(deadline ?? .max, connection.delivery.restsUntil)
    }

    /// Subscriptions whose pause is over receive what came meanwhile, and take live changes from there on.
    func end() {
        guard let due = deadline, due <= clock.now else { return }
        let all = resting
        resting = []
        deadline = nil
        for connection in all {
            connection.delivery.endRest()
            if connection.isClosing || connection.lagging == 0 { continue }
            if connection.delivery.restsUntil <= clock.now {
                scheduler.enqueue(connection)
            } else {
                rest(connection)
            }
        }
    }
}
