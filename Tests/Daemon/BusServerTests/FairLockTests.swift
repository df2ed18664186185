import BusServer
import Foundation
import Synchronization
import Testing

/// A snapshot is written in a loop of short pieces, and a batch of commits comes between any two of them.
@Suite(.timeLimit(.minutes(10))) struct FairLockTests {
    /// Whoever releases it and wants it again at once comes after the one who waits.
    @Test func whoWaitsComesBeforeWhoWantsItAgain() {
        let lock = FairLock()
        let order = Mutex<[String]>([])
        for round in 0..<50 {
            lock.acquire()
            let hasHadIt = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                lock.acquire()
                order.withLock { $0.append("batch \(round)") }
                lock.release()
                hasHadIt.signal()
            }
            while lock.waiting == 0 { sched_yield() }
            lock.release()
            lock.acquire()
            order.withLock { $0.append("piece \(round)") }
            lock.release()
            hasHadIt.wait()
        }
        #expect(order.withLock { $0 } == (0..<50).flatMap { ["batch \($0)", "piece \($0)"] })
    }

    @Test func itIsNotFreeWhileSomebodyHasIt() {
        let lock = FairLock()
        #expect(lock.acquireIfFree())
        #expect(!lock.acquireIfFree())
        lock.release()
        #expect(lock.acquireIfFree())
        lock.release()
    }
}
