import BusEngine
import BusLog
import BusMachine
import Synchronization

/// Events for the bus queue from the threads and queues that work with the log.
enum LogFileEvent: Sendable {
    /// A batch was written to the log. `took`: how long that was, in nanoseconds.
    case written(took: Int)
    /// A sync in the background has ended. `took`: how long it ran, in nanoseconds.
    case synced(took: Int)
    case notWritten(LogFailure)
    /// The machine to which the bus has to be rewound.
    case made(Rewinder.Made)
    /// After a failure: the log can be written again.
    case roomAgain
    case answered(LogQuery, LogAnswer)
    case snapshotTaken(revision: Int, bytes: Int)
    case snapshotFailed(String)
    /// A sync in the background failed.
    case unsynced(LogFailure)
}

/// Events for the bus queue, and the descriptor that wakes it: the queue may be busy with turns, and must receive the
/// events between two of them, not after all.
final class LogMailbox: Sendable {
    private let bell: EventFD
    private let news = Mutex<[LogFileEvent]>([])

    init(_ bell: EventFD) { self.bell = bell }

    func put(_ item: LogFileEvent) {
        news.withLock { $0.append(item) }
        bell.ring()
    }

    /// Takes all events since the last time.
    func take() -> [LogFileEvent] {
        news.withLock { news in
            defer { news.removeAll(keepingCapacity: true) }
            return news
        }
    }
}
