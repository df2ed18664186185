import Synchronization
import Systemd

/// The way into the journal that all copies of a handler share, with the number of entries it had no room for.
final class JournalSink: Sendable {
    private let journal: Journal
    private let lost = Atomic<Int>(0)

    init(_ journal: Journal) { self.journal = journal }

    func send(_ entry: JournalEntry) {
        tellLost()
        if !pass(entry) { lost.add(1, ordering: .relaxed) }
    }

    private func tellLost() {
        let count = lost.exchange(0, ordering: .relaxed)
        guard count > 0 else { return }
        var entry = JournalEntry(
            "\(count) messages were left out, because the journal did not keep up.", priority: .warning,
            messageID: MessageID(LogKind.leftOut.rawValue))
        entry.set("FLUXBUS_SUPPRESSED", String(count))
        if !pass(entry) { lost.add(count, ordering: .relaxed) }
    }

    /// Without waiting: the queue that commits must not stand still because the journal does.
    private func pass(_ entry: JournalEntry) -> Bool {
        do throws(SystemdError) {
            try journal.send(entry, waiting: false)
            return true
        } catch {
            return false
        }
    }
}
