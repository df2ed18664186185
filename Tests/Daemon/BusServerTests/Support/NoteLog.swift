import Logging
import Synchronization

/// Keeps what a bus logs, for a look afterwards.
final class NoteLog: Sendable {
    struct Note: Sendable {
        let message: String
        let metadata: Logger.Metadata
    }

    private let kept = Mutex<[Note]>([])

    var notes: [Note] { kept.withLock { $0 } }
    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        let log: NoteLog
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            log.kept.withLock { $0.append(Note(message: event.message.description, metadata: all)) }
        }
    }
}
