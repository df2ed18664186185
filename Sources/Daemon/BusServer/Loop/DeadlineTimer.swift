import Dispatch

/// One timer for all deadlines. It is armed only when something is due at some time, so an idle daemon sleeps.
///
/// A deadline that moves back leaves the timer alone: firing early once is cheaper than setting it on every turn.
final class DeadlineTimer {
    private let source: any DispatchSourceTimer
    /// In monotonic milliseconds; nil while nothing is due.
    private var armedFor: Int?

    init(queue: DispatchQueue, _ fired: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        // Fires once at the start: Dispatch opens its timer descriptor now, and not when there may be none left.
        source.schedule(deadline: .now())
        source.setEventHandler { [weak self] in
            self?.armedFor = nil
            fired()
        }
        source.activate()
    }

    func arm(for due: Int?) {
        guard let due, due < armedFor ?? .max else { return }
        armedFor = due
        let wait = max(0, due - MonotonicClock.read())
        // One millisecond late rather than a hair early, when nothing would be due yet.
        source.schedule(deadline: .now() + .milliseconds(wait + 1), leeway: .milliseconds(wait / 20))
    }

    func cancel() { source.cancel() }
}
