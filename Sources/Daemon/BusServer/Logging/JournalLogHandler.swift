import Logging
import Synchronization
import Systemd

/// Writes the log to the systemd journal, each entry with its fields: `journalctl FLUXBUS_STORE=counter/kitchen` finds
/// the entries of one store, `MESSAGE_ID=` those of one kind.
///
/// Guarantees: it never waits, since the queue that commits must not stall because the journal does. An entry for which
/// the journal has no room is lost, and the next one that gets through is preceded by the number of those.
/// ``waiting(level:identifier:)`` makes one that waits instead and loses nothing.
package struct JournalLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    private let sink: JournalSink

    /// - Parameter path: The journal's socket, a different one in tests.
    package init(
        level: Logger.Level, identifier: String, path: String = NonblockingJournal.defaultPath
    ) throws(SystemdError) {
        self.init(level, JournalSink(try NonblockingJournal(path: path, identifier: identifier).send))
    }

    private init(_ level: Logger.Level, _ sink: JournalSink) {
        logLevel = level
        self.sink = sink
    }

    /// For messages while nothing is served: why a start failed must not be lost.
    package static func waiting(level: Logger.Level, identifier: String) -> JournalLogHandler {
        JournalLogHandler(level, JournalSink(Journal(identifier: identifier).send))
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        var entry = JournalEntry(
            event.message.description, priority: Self.priority(of: event.level),
            messageID: LogKind.messageID(all))
        for (key, value) in all where key != LogKind.key {
            guard let field = Self.field(key) else { continue }
            entry.set(field, value.description)
        }
        sink.send(entry)
    }

    private static func priority(of level: Logger.Level) -> JournalPriority {
        switch level {
        case .trace, .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }

    /// `store` becomes `FLUXBUS_STORE`.
    private static func field(_ key: String) -> JournalField? {
        JournalField("FLUXBUS_" + key.uppercased().map { $0 == "-" || $0 == "." ? "_" : String($0) }.joined())
    }
}

/// The connection to the journal that all copies of a handler share, with the number of entries it had no room for.
final class JournalSink: Sendable {
    typealias Way = @Sendable (JournalEntry) throws(SystemdError) -> Void

    private let way: Way
    private let lost = Atomic<Int>(0)

    init(_ way: @escaping Way) { self.way = way }

    func send(_ entry: JournalEntry) {
        tellLost()
        if !pass(entry) { lost.add(1, ordering: .relaxed) }
    }

    private func tellLost() {
        let count = lost.exchange(0, ordering: .relaxed)
        guard count > 0 else { return }
        var entry = JournalEntry(
            "\(count) messages were dropped, because the journal did not keep up.", priority: .warning,
            messageID: MessageID(LogKind.leftOut.rawValue))
        entry.set("FLUXBUS_SUPPRESSED", String(count))
        if !pass(entry) { lost.add(count, ordering: .relaxed) }
    }

    private func pass(_ entry: JournalEntry) -> Bool {
        do throws(SystemdError) {
            try way(entry)
            return true
        } catch {
            return false
        }
    }
}
