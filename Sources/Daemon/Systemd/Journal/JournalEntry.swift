/// One entry for the journal: a message, how urgent it is, and any fields beside it.
///
/// Values may be any bytes, line ends and zeros included; a field may be set several times, and the journal keeps each.
///
/// ```swift
/// var entry = JournalEntry("counter/kitchen refused increment", priority: .warning, messageID: .rejected)
/// entry.set("FLUXBUS_STORE", "counter/kitchen")
/// try journal.send(entry)
/// ```
public struct JournalEntry: Sendable {
    /// Each field as `NAME=value`, the form that libsystemd takes.
    private var fields: [[UInt8]] = []

    public init(_ message: String, priority: JournalPriority = .info, messageID: MessageID? = nil) {
        set(.message, message)
        set(.priority, String(priority.rawValue))
        if let messageID { set(.messageID, messageID.description) }
    }

    /// Adds a field with a text.
    public mutating func set(_ field: JournalField, _ value: String) {
        var value = value
        value.withUTF8 { set(field, bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Adds a field with any bytes.
    public mutating func set(_ field: JournalField, bytes value: UnsafeRawBufferPointer) {
        fields.append(Array("\(field)=".utf8) + value)
    }

    /// All fields of an entry, with this name as its sender.
    func fields(of identifier: String) -> [[UInt8]] {
        [Array("\(JournalField.syslogIdentifier)=\(identifier)".utf8)] + fields
    }
}

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
