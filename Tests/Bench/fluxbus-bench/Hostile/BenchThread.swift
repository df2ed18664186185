import CLinux
import Glibc
import Synchronization

/// A thread that returns one result. It works with objects made inside its body, so nothing is
/// shared but what the body captures.
struct BenchThread<Outcome: Sendable> {
    private let thread: pthread_t
    private let box: OutcomeBox<Outcome>

    /// Starts it, nicer than this thread by `niceness`; negative: less nice, where that is allowed. `isFirst`:
    /// it comes before all other threads of the machine, which takes root, so that what it measures is not its own waiting
    /// for the processor. `user`: what it connects to sees this user, which takes root.
    init(
        niceness: Int32 = 0, isFirst: Bool = false, user: UInt32? = nil,
        _ body: @escaping @Sendable () -> Outcome
    ) {
        let box = OutcomeBox<Outcome>()
        self.box = box
        thread = ThreadBody.start {
            // On Linux this affects the calling thread only; where the priority may not be raised it stays as it is.
            let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, own + niceness)
            if isFirst {
                // Where that is not allowed it stays as it is.
                var first = sched_param(sched_priority: 1)
                sched_setscheduler(0, SCHED_FIFO, &first)
            }
            if let user {
                precondition(linux_become_user(user) == 0, "Only root can act as another user.")
            }
            box.fill(body())
        }
    }

    /// Waits for its end. Once only.
    func join() -> Outcome {
        pthread_join(thread, nil)
        return box.take()
    }
}

/// The body of a thread, passed through a C call.
private final class ThreadBody: Sendable {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        let start = Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        precondition(failure == 0, "There is no thread left; end other programs first.")
        return thread
    }
}

/// Holds the result of a thread.
private final class OutcomeBox<Outcome: Sendable>: Sendable {
    private let outcome = Mutex<Outcome?>(nil)

    func fill(_ value: Outcome) { outcome.withLock { $0 = value } }

    func take() -> Outcome {
        guard let value = outcome.withLock({ $0 }) else {
            preconditionFailure("A thread of the load generator ended without its result.")
        }
        return value
    }
}
