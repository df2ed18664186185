/// One entry for the journal: a message, how urgent it is, and any fields beside it.
///
/// Values may be any bytes, line ends and zeros included; a field may be set several times, and the journal keeps each.
/// The entry is kept as it will be sent (the native journal protocol), so that adding a field copies it once.
///
/// ```swift
/// var entry = JournalEntry("counter/kitchen refused increment", priority: .warning, messageID: .rejected)
/// entry.set("FLUXBUS_STORE", "counter/kitchen")
/// try journal.send(entry)
/// ```
public struct JournalEntry: Sendable {
    /// The fields in the journal's native form, each with its end.
    package private(set) var bytes: [UInt8] = []

    public init(_ message: String, priority: JournalPriority = .info, messageID: MessageID? = nil) {
        bytes.reserveCapacity(message.utf8.count + 128)
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
        bytes.append(contentsOf: field.description.utf8)
        let newline = UInt8(ascii: "\n")
        if value.contains(newline) {
            // What holds a line's end is told with its length before it.
            bytes.append(newline)
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: UInt64(value.count) >> UInt64(shift)))
            }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes.append(contentsOf: value)
        bytes.append(newline)
    }
}
