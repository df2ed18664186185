import Synchronization

/// The dispatched work of all stores that follow one clock: how much of it neither sleeps by such a clock nor has ended. A
/// ``ManualClock`` waits for that before it lets time pass.
final class WorkRoster: Sendable {
    private struct Contents {
        var busyCount = 0
        /// Counts the changes.
        var version: UInt64 = 0
    }

    private let contents = Mutex(Contents())

    /// Enters work that is about to begin.
    func enter() -> RosteredWork {
        change(by: 1)
        return RosteredWork(self)
    }

    fileprivate func change(by count: Int) {
        contents.withLock { contents in
            contents.busyCount += count
            contents.version += 1
        }
    }

    /// Returns when all work sleeps or has ended. Work that waits for something else is left alone once nothing has happened for
    /// a while, in which all ready work has had many turns.
    nonisolated(nonsending) func settle() async {
        var quiet = 0
        var known = contents.withLock { $0.version }
        var since = ContinuousClock.now
        while true {
            let (busyCount, version) = contents.withLock { ($0.busyCount, $0.version) }
            if version != known { (known, quiet, since) = (version, 0, .now) }
            // What sleeps may have children that do not yet.
            if busyCount == 0 ? quiet >= Self.fewTurns : quiet >= Self.manyTurns && .now - since > Self.calm {
                return
            }
            await Task.detached { await Task.yield() }.value
            quiet += 1
        }
    }

    private static let fewTurns = 10
    private static let manyTurns = 1000
    private static let calm = Duration.milliseconds(100)
}

/// One piece of work on its roster. The tasks that it starts belong to it.
final class RosteredWork: Sendable {
    private struct Contents {
        var sleepCount = 0
        var hasEnded = false

        var isBusy: Bool { sleepCount == 0 && !hasEnded }
    }

    /// The work to which the current task belongs.
    @TaskLocal static var current: RosteredWork?

    private let roster: WorkRoster
    private let contents = Mutex(Contents())

    fileprivate init(_ roster: WorkRoster) { self.roster = roster }

    /// A part of it begins to wait for what the clock will bring.
    func fallAsleep() { change { $0.sleepCount += 1 } }

    /// That wait is over.
    func wakeUp() { change { $0.sleepCount -= 1 } }

    func end() { change { $0.hasEnded = true } }

    private func change(_ body: (inout Contents) -> Void) {
        let difference = contents.withLock { contents in
            let before = contents.isBusy
            body(&contents)
            return (contents.isBusy ? 1 : 0) - (before ? 1 : 0)
        }
        roster.change(by: difference)
    }
}
