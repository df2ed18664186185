import BusServer
import Dispatch
import Glibc

/// The daemon's signals, from the moment this is made until `end`: it is made before anything is opened,
/// so that a signal during the start stops the daemon as it should.
struct Signals {
    private static let handled = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]
    private let sources: [any DispatchSourceSignal]

    init(_ server: BusServer) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in Self.handled { sigaddset(&set, signal) }
        // Threads that are started from now on inherit this; Dispatch takes the signals from a descriptor.
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        // A log that may not grow any more is like a full disk: reported to clients, and survived.
        signal(SIGXFSZ, SIG_IGN)

        let queue = DispatchQueue(label: "fluxbus.signals")
        sources = Self.handled.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        nonisolated(unsafe) var isStopping = false  // Touched on the queue only.
        for (signal, source) in zip(Self.handled, sources) {
            source.setEventHandler {
                if signal == SIGHUP {
                    server.reload()
                } else if signal == SIGUSR1 {
                    server.announceRestart()
                } else if isStopping {
                    server.stopNow()
                } else {
                    isStopping = true
                    server.stop()
                }
            }
            source.activate()
        }
    }

    /// The sources work as long as they are held: until here.
    func end() {
        for source in sources { source.cancel() }
    }
}
