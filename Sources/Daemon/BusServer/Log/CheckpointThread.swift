import BusLog
import BusSystem

/// The thread that moves pages from the write-ahead log into the log's file, whenever there are enough.
///
/// `@unchecked Sendable`: everything mutable is accessed under `lock`.
final class CheckpointThread: @unchecked Sendable {
    private let checkpointer: Checkpointer
    private let lock = ThreadLock()
    private var isWanted = false
    private var isEnding = false
    private var hasEnded = false

    init(_ checkpointer: Checkpointer) {
        self.checkpointer = checkpointer
        SystemThread.startNecessary(named: "fluxbus-pages") { [self] in work() }
    }

    /// There are enough.
    func want() {
        lock.locked {
            if isWanted { return }
            isWanted = true
            lock.signal()
        }
    }

    /// Ends the thread, before it returns.
    func end() {
        lock.locked {
            isEnding = true
            lock.signal()
            while !hasEnded { lock.wait() }
        }
    }

    /// How long it waits before it tries again to cut the file, in milliseconds.
    private static let pause = 50

    private func work() {
        var next = 0
        while true {
            var ends = false
            lock.locked {
                while !isWanted, !checkpointer.isToCut, !isEnding { lock.wait() }
                while checkpointer.isToCut, !isEnding, MonotonicClock.milliseconds < next {
                    lock.wait(milliseconds: next - MonotonicClock.milliseconds)
                }
                isWanted = false
                ends = isEnding
            }
            if ends { break }
            checkpointer.run()
            // While commits arrive without a pause, it takes several attempts.
            next = MonotonicClock.milliseconds + Self.pause
        }
        lock.locked {
            hasEnded = true
            lock.signal()
        }
    }
}
