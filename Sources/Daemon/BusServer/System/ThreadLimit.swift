import BusSystem
import Glibc

/// Whether the system lets the daemon have its threads.
package enum ThreadLimit {
    /// Its own, those of Dispatch that run the bus, its sources and its notifications, and readers of the past.
    static let needed = 24

    /// Throws if there is no room for them. Call it before Dispatch is used, which waits until there is: for as long, nobody
    /// would be answered, and no signal heard.
    package static func check() throws(StartFailure) {
        // A signal that came to one of them, some of which take a moment to end, would end the process.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let gate = ThreadLock()
        // Until all are there: one that ends makes room for the next.
        gate.acquire()
        defer { gate.release() }
        for started in 0..<needed {
            do throws(SystemError) {
                try SystemThread.start(named: "fluxbus-room") { gate.locked {} }
            } catch {
                throw StartFailure(
                    .system,
                    "The system has room for \(started) more threads, and the daemon needs \(needed); allow it more of them "
                        + "(TasksMax= in the unit, ulimit -u).")
            }
        }
    }
}
