/// The bounds of timers, in a process as on a bus.
public enum TimerLimits {
    /// How many timers a store has at most: they have names that a program writes down, so more are a mistake, such as a
    /// name made of a number that counts.
    public static let timersOfStore = 64
    /// The least delay: a timer that sets itself anew can't keep a processor busy.
    public static let shortest = Duration.milliseconds(10)
    /// The longest delay, ten years: what is meant to last longer is mostly a mistake of units.
    public static let longest = Duration.seconds(3653 * 86_400)

    package static let longestName = 64
    package static let nameRule =
        "begin with a letter or digit, go on with letters, digits, _ : @ or -, and use at most 64 bytes"

    /// Whether a timer can be called this: `[A-Za-z0-9][A-Za-z0-9_:@-]*`.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isAlphanumeric(first), text.utf8.count <= longestName else {
            return false
        }
        return text.utf8.allSatisfy { isAlphanumeric($0) || "_:@-".utf8.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
