import Synchronization
import Systemd

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
