import BusSystem

/// Runs the loop while the bus queue is held up by the disk.
///
/// A batch of a lone client is written on the bus queue itself: waking another thread for it, and being woken by that, takes
/// longer than the write. But a disk may hang, and the bus must not hang with it. So a thread looks, every few milliseconds
/// while there are writes, whether the same one is still going on. If so, it takes the queue's place: it runs the loop until
/// the write returns. What belongs to the bus queue belongs then to this thread, and the queue touches nothing but the write.
///
/// `@unchecked Sendable`: everything mutable is accessed under `lock`, and the loop by whoever has its place.
final class StandIn: @unchecked Sendable {
    /// Who runs the loop.
    private enum Place {
        /// The bus queue, which is not held up.
        case queue
        /// The bus queue, which has begun something that may take long.
        case queueHeldUp
        /// This thread.
        case thread
        /// This thread, and the queue waits for its place.
        case threadWantedBack
    }

    private unowned let loop: EventLoop
    private let bell: EventFD
    private let lock = ThreadLock()
    private var place = Place.queue
    /// Counts what may take long.
    private var number = 0
    /// The thread waits until something begins, and does not look.
    private var isAsleep = false
    private var isEnding = false
    private var hasEnded = false

    /// - Parameter loop: It outlives the thread, which `end` ends.
    init(for loop: EventLoop) {
        self.loop = loop
        bell = loop.bell
        SystemThread.startNecessary(named: "fluxbus-standin") { [self] in work() }
    }

    // MARK: - From the bus queue

    /// Does something on the bus queue that may take long. Meanwhile the loop may take turns, so what calls this has nothing
    /// of the bus half done.
    func perform(_ body: () -> Void) {
        begin()
        body()
        finish()
    }

    private func begin() {
        lock.acquire()
        place = .queueHeldUp
        number &+= 1
        if isAsleep {
            isAsleep = false
            lock.signal()
        }
        lock.release()
    }

    private func finish() {
        lock.acquire()
        defer { lock.release() }
        if place == .thread {
            place = .threadWantedBack
            bell.callForQueue()
            while place != .queue { lock.wait() }
        }
        place = .queue
    }

    /// Ends the thread, before it returns.
    func end() {
        lock.locked {
            isEnding = true
            lock.signal()
            while !hasEnded { lock.wait() }
        }
    }

    // MARK: - On the thread

    private func work() {
        lock.acquire()
        while !isEnding {
            let before = number
            let wasHeldUp = place == .queueHeldUp
            lock.wait(milliseconds: LoopLimits.standInLooks)
            if number == before, place == .queueHeldUp, wasHeldUp {
                place = .thread
                lock.release()
                runLoop()
                lock.acquire()
                place = .queue
                lock.signal()
            } else if number == before, place == .queue, !isEnding {
                isAsleep = true
                while isAsleep, !isEnding { lock.wait() }
            }
        }
        hasEnded = true
        lock.signal()
        lock.release()
    }

    private var isWantedBack: Bool {
        lock.acquire()
        defer { lock.release() }
        return place == .threadWantedBack
    }

    /// What Dispatch does for the loop else: it is run when a socket is ready, and when something is due.
    private func runLoop() {
        while !isWantedBack {
            loop.wakeUp()
            loop.checkDeadlines()
        }
    }
}
