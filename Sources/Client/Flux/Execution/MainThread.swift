import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Execution on the main thread that keeps the order: work runs at once when it comes on the main thread and nothing is
/// waiting or running before it, else it waits in the main queue.
final class MainThread: Sendable {
    static let line = MainThread()

    /// Work that is running or queued.
    private let waiting = Atomic<Int>(0)

    func run(_ work: @escaping @Sendable () -> Void) {
        if Self.isCurrent,
            waiting.compareExchange(expected: 0, desired: 1, ordering: .sequentiallyConsistent).exchanged
        {
            work()
            waiting.subtract(1, ordering: .sequentiallyConsistent)
        } else {
            waiting.add(1, ordering: .sequentiallyConsistent)
            DispatchQueue.main.async {
                work()
                self.waiting.subtract(1, ordering: .sequentiallyConsistent)
            }
        }
    }

    #if canImport(Darwin)
        static var isCurrent: Bool { pthread_main_np() != 0 }
    #else
        /// The process's first thread, or the one that serves the main queue: after `dispatchMain()`, the first thread is
        /// gone on Linux and any thread may.
        static var isCurrent: Bool {
            DispatchQueue.getSpecific(key: mark) != nil || threadNumber?() == getpid()
        }

        private static let mark: DispatchSpecificKey<Bool> = {
            let mark = DispatchSpecificKey<Bool>()
            DispatchQueue.main.setSpecific(key: mark, value: true)
            return mark
        }()

        /// `gettid`, whose number is the process's own on the first thread. The C library has it but its Swift module
        /// does not show it.
        private static let threadNumber: (@convention(c) @Sendable () -> pid_t)? = dlsym(nil, "gettid").map {
            unsafeBitCast($0, to: (@convention(c) @Sendable () -> pid_t).self)
        }
    #endif
}
