/// The timers of one store, and the alarm that the store has set on its clock for the first of them.
struct TimerTable<State: Flux.State> {
    struct Timer: Sendable {
        let name: String
        /// On the store's clock.
        let due: Duration
        let action: State.Action
    }

    /// In the order in which they are due; of those due at one time, the one set first comes first. They are few.
    private(set) var timers: [Timer] = []
    /// When the clock calls, and what ends that.
    var alarm: (time: Duration, ending: Disposable)?
    /// The store is gone.
    private(set) var isClosed = false

    /// When the store has to be called and is not; nil where it will be, or need not be.
    var wantedAlarm: Duration? {
        guard let first = timers.first, alarm.map({ $0.time > first.due }) ?? true else { return nil }
        return first.due
    }

    /// Sets a timer; returns the one that it replaces.
    mutating func set(_ timer: Timer) throws(FluxError) -> Timer? {
        let replaced = cancel(timer.name)
        guard timers.count < TimerLimits.timersOfStore else {
            throw .timerRefused(
                timer: timer.name, reason: "the store has \(timers.count) timers, which is the limit")
        }
        timers.insert(timer, at: timers.firstIndex { $0.due > timer.due } ?? timers.count)
        return replaced
    }

    /// Takes a timer away.
    mutating func cancel(_ name: String) -> Timer? {
        let place = timers.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
        return place.map { timers.remove(at: $0) }
    }

    /// Takes the first timer that is due.
    mutating func takeDue(at now: Duration) -> Timer? {
        guard let first = timers.first, first.due <= now else { return nil }
        return timers.removeFirst()
    }

    /// Forgets the alarm; returns it, to be ended.
    mutating func takeAlarm() -> Disposable? {
        defer { alarm = nil }
        return alarm?.ending
    }

    /// The store goes, and its timers with it. Returns what is to be released.
    mutating func close() -> ([Timer], Disposable?) {
        isClosed = true
        defer { timers = [] }
        return (timers, takeAlarm())
    }
}
