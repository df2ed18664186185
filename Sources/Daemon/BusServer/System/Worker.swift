import BusSystem

/// A thread that does one thing after the other. It is made once, at the start: where the system has no room for a further thread,
/// whoever hands work to a queue of Dispatch waits until there is, and the bus must not.
///
/// The thread ends, after what it was given, when the worker is let go.
final class Worker: Sendable {
    private let queue = Queue()

    /// - Parameter niceness: How much nicer than others the thread is.
    init(named name: String, niceness: Int32 = 0) {
        SystemThread.startNecessary(named: name, niceness: niceness) { [queue] in queue.work() }
    }

    deinit { queue.end() }

    func async(_ body: @escaping @Sendable () -> Void) { queue.add(body) }

    /// Waits until everything that it was given is done.
    func drain() { queue.drain() }

    /// What the thread holds. `@unchecked Sendable`: everything mutable is accessed under `lock`.
    private final class Queue: @unchecked Sendable {
        private let lock = ThreadLock()
        private var waiting: [@Sendable () -> Void] = []
        private var isBusy = false
        private var isEnding = false

        func add(_ body: @escaping @Sendable () -> Void) {
            lock.locked {
                waiting.append(body)
                lock.signal()
            }
        }

        func end() {
            lock.locked {
                isEnding = true
                lock.signal()
            }
        }

        func drain() { lock.locked { while isBusy || !waiting.isEmpty { lock.wait() } } }

        func work() {
            while runNext() {
                lock.locked {
                    isBusy = false
                    lock.signal()
                }
            }
        }

        /// False at the end. What was done is let go before anybody hears that it is done: it may hold the log, which the next
        /// owner opens then.
        private func runNext() -> Bool {
            guard let body = takeNext() else { return false }
            body()
            return true
        }

        private func takeNext() -> (@Sendable () -> Void)? {
            lock.acquire()
            defer { lock.release() }
            while waiting.isEmpty, !isEnding { lock.wait() }
            if waiting.isEmpty { return nil }
            isBusy = true
            return waiting.removeFirst()
        }
    }
}
