import Foundation

/// Runs `work` on that many threads of their own and returns when all have ended.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            work(number)
            group.leave()
        }
    }
    group.wait()
}
