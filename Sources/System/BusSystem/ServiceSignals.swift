import Dispatch
import Glibc

/// The signals of a service: SIGTERM and SIGINT end it, a second one at once, and SIGHUP reloads. It is made before anything
/// is opened, so that none that comes meanwhile is lost.
///
/// `@unchecked Sendable`: the sources are only held.
package final class ServiceSignals: @unchecked Sendable {
    private enum Event: Sendable { case end, reload }

    private let queue = DispatchQueue(label: "fluxbus.signals")
    private let sources: [any DispatchSourceSignal]
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    package init() {
        (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(8))
        let handled = [SIGTERM, SIGINT, SIGHUP]
        var set = sigset_t()
        sigemptyset(&set)
        for signal in handled { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        nonisolated(unsafe) var isEnding = false  // Touched on the queue only.
        var sources: [any DispatchSourceSignal] = []
        for signal in handled {
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            source.setEventHandler { [continuation] in
                if signal == SIGHUP {
                    continuation.yield(.reload)
                } else if isEnding {
                    _exit(0)
                } else {
                    isEnding = true
                    continuation.yield(.end)
                }
            }
            source.activate()
            sources.append(source)
        }
        self.sources = sources
    }

    /// As a signal to end does.
    package func end() { continuation.yield(.end) }

    /// Returns when the program is to end.
    package func wait(reload: @escaping @Sendable () -> Void) {
        Waiting.done { [events] in
            for await event in events {
                guard event == .reload else { return }
                reload()
            }
        }
    }
}
