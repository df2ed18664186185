import Glibc

/// The signals of a service: SIGTERM and SIGINT end it, a second one at once, and SIGHUP reloads. It is made before anything
/// is opened, so that none that comes meanwhile is lost.
package struct ServiceSignals: Sendable {
    private enum Event: Sendable { case end, reload }

    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    package init() {
        (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(8))
        nonisolated(unsafe) var isEnding = false  // Touched in the signals' thread only.
        SignalThread.start(taking: [SIGTERM, SIGINT, SIGHUP]) { [continuation] signal in
            if signal == SIGHUP {
                continuation.yield(.reload)
            } else if isEnding {
                _exit(0)
            } else {
                isEnding = true
                continuation.yield(.end)
            }
        }
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
