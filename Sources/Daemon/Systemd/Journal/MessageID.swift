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
