import CLinux
import Glibc

/// Runs something on a thread without which a daemon can't start; later none of these is made.
func startNecessaryThread(
    named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void
) {
    let isStarted = startThread(named: name, niceness: niceness, body)
    precondition(
        isStarted,
        "The system has no room for a thread; allow the daemon more of them (TasksMax=, ulimit -u).")
}

/// Runs something on a thread of its own, nicer than others by `niceness`; false where the system has no room for one.
func startThread(
    named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void
) -> Bool {
    final class Body {
        let run: @Sendable () -> Void
        let name: String
        let niceness: Int32
        init(_ name: String, _ niceness: Int32, _ run: @escaping @Sendable () -> Void) {
            (self.name, self.niceness, self.run) = (name, niceness, run)
        }
    }
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(Body(name, niceness, body))
    let result = pthread_create(
        &thread, nil,
        { argument in
            let body = Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue()
            linux_name_thread(body.name)
            // On Linux this affects the calling thread only.
            if body.niceness > 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, body.niceness) }
            body.run()
            return nil
        }, retained.toOpaque())
    guard result == 0 else {
        retained.release()
        return false
    }
    pthread_detach(thread)
    return true
}
