import BusEngine
import BusLog
import BusMachine
import Synchronization

/// What the bus queue hears from those who work with the log.
enum LogFileEvent: Sendable {
    case written
    case notWritten(LogFailure)
    /// What the bus has to be rewound to.
    case made(Rewinder.Made)
    /// After trouble: it can be written again.
    case roomAgain
    case answered(LogQuery, LogAnswer)
    case snapshotTaken(revision: Int, bytes: Int)
    case snapshotFailed(String)
    /// A sync in the background failed.
    case unsynced(LogFailure)
}

/// News for the bus queue, and the bell that tells of it: the queue may be busy with turns, and must hear of the disk between
/// two of them, not after all.
final class LogMailbox: Sendable {
    private let bell: EventFD
    private let news = Mutex<[LogFileEvent]>([])

    init(_ bell: EventFD) { self.bell = bell }

    func put(_ item: LogFileEvent) {
        news.withLock { $0.append(item) }
        bell.ring()
    }

    /// All that has come since the last time.
    func take() -> [LogFileEvent] {
        news.withLock { news in
            defer { news.removeAll(keepingCapacity: true) }
            return news
        }
    }
}
