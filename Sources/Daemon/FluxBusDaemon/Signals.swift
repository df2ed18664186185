import BusServer
import BusSystem
import Glibc

/// The daemon's signals. They are taken before anything is opened, so that one that comes during the start stops the daemon as
/// it should.
enum Signals {
    static func take(for server: BusServer) {
        signal(SIGPIPE, SIG_IGN)
        // A log that may not grow any more is like a full disk: reported to clients, and survived.
        signal(SIGXFSZ, SIG_IGN)
        nonisolated(unsafe) var isStopping = false  // Touched in the signals' thread only.
        SignalThread.start(taking: [SIGTERM, SIGINT, SIGHUP, SIGUSR1]) { signal in
            if signal == SIGHUP {
                server.reload()
            } else if signal == SIGUSR1 {
                server.announceRestart()
            } else if isStopping {
                server.stopNow()
            } else {
                isStopping = true
                LastResort.arm()
                server.stop(heard: LastResort.disarm)
            }
        }
    }
}
