import BusEngine
import BusLog
import CLinux
import Glibc
import Synchronization

/// What the bus queue hears from the queues that work with the log.
enum LogNews: Sendable {
    case written
    case notWritten(LogFailure)
    /// After trouble: it can be written again.
    case roomAgain
    case answered(LogQuestion, LogAnswer)
    case snapshotTaken(revision: Int, bytes: Int)
    case snapshotFailed(String)
    /// A sync in the background failed, or it works again (nil).
    case unsynced(LogFailure)
}

/// News for the bus queue, and a bell that its poller hears: the queue may be busy with turns, and must hear of the disk
/// between two of them, not after all.
final class LogMailbox: Sendable {
    /// Readable while there is news.
    let bell: Int32
    private let news = Mutex<[LogNews]>([])

    init() throws(SystemError) {
        bell = linux_event_descriptor()
        guard bell >= 0 else { throw SystemError("eventfd") }
    }

    deinit { SystemCall.close(bell) }

    func put(_ item: LogNews) {
        let isFirst = news.withLock { news in
            news.append(item)
            return news.count == 1
        }
        if isFirst { ring() }
    }

    /// All that has come since the last time.
    func take() -> [LogNews] {
        silence()
        return news.withLock { news in
            defer { news.removeAll(keepingCapacity: true) }
            return news
        }
    }

    private func ring() {
        var one: UInt64 = 1
        _ = Glibc.write(bell, &one, 8)
    }

    private func silence() {
        var count: UInt64 = 0
        _ = Glibc.read(bell, &count, 8)
    }
}
