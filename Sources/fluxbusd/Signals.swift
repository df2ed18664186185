import BusServer
import Dispatch
import Glibc

/// The daemon's signals. They are blocked as soon as this is made, so that one that comes during the start waits,
/// and handled from `activate` on.
struct Signals {
    private static let handled = [SIGTERM, SIGINT, SIGHUP]
    private let sources: [any DispatchSourceSignal]

    init(_ server: BusServer) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in Self.handled { sigaddset(&set, signal) }
        // Threads that are started from now on inherit this; Dispatch takes the signals from a descriptor.
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)

        let queue = DispatchQueue(label: "fluxbus.signals")
        sources = Self.handled.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        nonisolated(unsafe) var isStopping = false  // Touched on the queue only.
        for (signal, source) in zip(Self.handled, sources) {
            source.setEventHandler {
                if signal == SIGHUP {
                    server.reload()
                } else if isStopping {
                    server.stopNow()
                } else {
                    isStopping = true
                    server.stop()
                }
            }
        }
    }

    func activate() {
        for source in sources { source.activate() }
    }
}
