import Dispatch
import Glibc

/// The signals of the program, from the moment this is made: before anything is opened, so that one that comes meanwhile is
/// not lost.
///
/// `@unchecked Sendable`: the sources are only held.
final class WebSignals: @unchecked Sendable {
    private enum Event: Sendable { case end, reload }

    private let queue = DispatchQueue(label: "fluxbus.web.signals")
    private let sources: [any DispatchSourceSignal]
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init() {
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
    func end() { continuation.yield(.end) }

    /// Returns when the program is to end.
    func wait(reload: @escaping @Sendable () -> Void) {
        Waiting.done { [events] in
            for await event in events {
                guard event == .reload else { return }
                reload()
            }
        }
    }
}
