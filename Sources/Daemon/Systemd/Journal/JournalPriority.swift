/// How urgent an entry is: the levels of syslog(3), which `journalctl -p` filters by.
public enum JournalPriority: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    case emergency = 0
    case alert = 1
    case critical = 2
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// The more urgent one is the smaller one, as everywhere in syslog.
    public static func < (one: JournalPriority, other: JournalPriority) -> Bool {
        one.rawValue < other.rawValue
    }
}
