import Glibc

/// Ends a daemon that does not react to the request to stop. Where the system has no room for a thread, Dispatch waits, and
/// runs nothing that is on its queues meanwhile. As after a kill, the log has what was acknowledged.
enum LastResort {
    /// Seconds until it does; less than `TimeoutStopSec=` of the unit, after which systemd kills the daemon.
    private static let patience: UInt32 = 10

    static func arm() {
        signal(SIGALRM) { _ in
            // A signal handler may call little more than these.
            let message: StaticString =
                "fluxbusd: The bus did not react to the request to stop for 10 seconds. It may be reading a large copy of a bus, or waiting for one. If it gets no thread, allow the service more (TasksMax=, ulimit -u).\n"
            _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
            _exit(EX_OSERR)
        }
        alarm(patience)
    }

    static func disarm() { alarm(0) }
}
