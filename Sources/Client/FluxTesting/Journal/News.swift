import Dispatch
import Synchronization

/// Lets tests wait until there is something new to look at, or for so long.
final class News: Sendable {
    private struct Contents {
        var version = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var count = 0
    }

    private let contents = Mutex(Contents())

    /// Counts what was told.
    var version: Int { contents.withLock { $0.version } }

    func tell() {
        let waiting = contents.withLock { contents in
            contents.version += 1
            defer { contents.waiting = [:] }
            return contents.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when something has been told after `version`, at `deadline`, or when the task is cancelled.
    func wait(after version: Int, until deadline: ContinuousClock.Instant) async {
        let number = contents.withLock { contents in
            contents.count += 1
            return contents.count
        }
        let alarm = DispatchWorkItem { [self] in giveUp(number) }
        let (seconds, attoseconds) = (deadline - .now).components
        let rest = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(max(rest, 0)), execute: alarm)
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = contents.withLock { contents in
                    guard contents.version == version, !Task.isCancelled, ContinuousClock.now < deadline
                    else { return true }
                    contents.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        contents.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
}
