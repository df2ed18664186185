import Glibc

/// Ends a daemon that can't hear that it is to stop. Dispatch waits where the system has no room for a thread, and nothing that
/// is handed to its queues is done meanwhile. What was acknowledged is in the log, as after a kill.
enum LastResort {
    /// Seconds after which it is used; systemd kills after `TimeoutStopSec=` of the unit, which is longer.
    private static let patience: UInt32 = 10

    static func arm() {
        signal(SIGALRM) { _ in
            // A handler of signals may call little more than these.
            let message: StaticString =
                "fluxbusd: Nothing has heard for 10 seconds that the daemon is to stop; is there room for threads (TasksMax=)?\n"
            _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
            _exit(EX_OSERR)
        }
        alarm(patience)
    }

    static func disarm() { alarm(0) }
}
