import Dispatch
import Glibc

/// Wakes the loop at a time of day: when the next timer of the bus is due.
///
/// It goes by the clock that commits are dated by. So a clock that is set ahead, or a machine that was suspended, fires at
/// once what has become due, and a clock that is set back fires nothing early.
final class WallTimer {
    private let source: any DispatchSourceTimer
    /// In milliseconds since 1970; nil while nothing is due, and nothing wakes the loop.
    private(set) var armedFor: Int?

    init(queue: DispatchQueue, _ fired: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(wallDeadline: .distantFuture)
        source.setEventHandler { [weak self] in
            self?.armedFor = nil
            fired()
        }
        source.activate()
    }

    /// Unlike a deadline, which is looked at whenever there is something to do, a timer that was taken away wakes nobody.
    func arm(for due: Int?) {
        guard due != armedFor else { return }
        armedFor = due
        guard let due else { return source.schedule(wallDeadline: .distantFuture) }
        let time = timespec(tv_sec: due / 1000, tv_nsec: due % 1000 * 1_000_000)
        source.schedule(wallDeadline: DispatchWallTime(timespec: time), leeway: .milliseconds(1))
    }

    func cancel() { source.cancel() }
}
