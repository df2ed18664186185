import CSystemd
import Glibc

/// The system's journal: entries with fields instead of lines of text, written by libsystemd.
///
/// ```swift
/// let journal = Journal.isStandardError() ? Journal(identifier: "fluxbusd") : nil
/// try journal?.send(JournalEntry("listening", priority: .notice))
/// ```
public struct Journal: Sendable {
    private let identifier: String

    /// - Parameter identifier: The name that `journalctl` shows before each message (SYSLOG_IDENTIFIER).
    public init(identifier: String) { self.identifier = identifier }

    /// Writes one entry (`sd_journal_sendv`): whole or not at all, of any size. It waits while the journal does not
    /// keep up; a queue that must not stall has a ``NonblockingJournal``.
    ///
    /// - Throws: `system` if it can't be written. A missing journal is no failure: nobody would read the entry.
    public func send(_ entry: JournalEntry) throws(SystemdError) {
        let fields = entry.fields(of: identifier)
        let bytes = fields.flatMap(\.self)
        let answer = bytes.withUnsafeBytes { bytes in
            var offset = 0
            let pieces = fields.map { field in
                defer { offset += field.count }
                return iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + offset }),
                    iov_len: field.count)
            }
            return sd_journal_sendv(pieces, Int32(pieces.count))
        }
        if answer < 0 { throw SystemdError.failed("Writing to the journal", -answer) }
    }

    /// True if `JOURNAL_STREAM` names what standard error is connected to, so that messages go to the journal anyway.
    /// An operator who redirected it to a file or a terminal wants them there, although the variable is still set.
    ///
    /// libsystemd has no call for it.
    public static func isStandardError(descriptor: Int32 = STDERR_FILENO) -> Bool {
        guard let text = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return false }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else {
            return false
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}

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

/// The name of a field of a journal entry: `FLUXBUS_STORE`.
///
/// The journal silently drops fields whose names it does not allow; so such a name can't be made.
public struct JournalField: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    public let description: String

    public static let message: JournalField = "MESSAGE"
    public static let messageID: JournalField = "MESSAGE_ID"
    public static let priority: JournalField = "PRIORITY"
    public static let syslogIdentifier: JournalField = "SYSLOG_IDENTIFIER"
    public static let errorNumber: JournalField = "ERRNO"

    /// Nil unless the name has 1 to 64 upper-case letters, digits and underscores and begins with a letter.
    public init?(_ name: String) {
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= 64 else { return nil }
        let isFine = name.utf8.allSatisfy {
            letters.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "_")
        }
        guard isFine else { return nil }
        description = name
    }

    /// Stops the program if the text can't be a name: it stands in the source.
    public init(stringLiteral text: String) {
        guard let field = JournalField(text) else {
            preconditionFailure("`\(text)` can't name a journal field; use A-Z, 0-9 and _, a letter first.")
        }
        self = field
    }
}

/// The kind of an entry, for machines: 128 bits in 32 hexadecimal digits, drawn once (`systemd-id128 new`) and never
/// changed. The message catalog explains it to people, and `journalctl MESSAGE_ID=…` finds all entries of the kind.
///
/// ```swift
/// extension MessageID { static let ready: MessageID = "8b1c3f6f0a4e4a2f9a58f2f1f1b6a1f0" }
/// ```
public struct MessageID: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    public let description: String

    /// Nil unless the text has exactly 32 lower-case hexadecimal digits.
    public init?(_ text: String) {
        let isFine = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        guard isFine, text.utf8.count == 32 else { return nil }
        description = text
    }

    /// Stops the program if the text is none: it stands in the source.
    public init(stringLiteral text: String) {
        guard let identifier = MessageID(text) else {
            preconditionFailure("`\(text)` is not a message ID; draw one with `systemd-id128 new`.")
        }
        self = identifier
    }
}
