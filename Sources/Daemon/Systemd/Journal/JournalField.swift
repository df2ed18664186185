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
