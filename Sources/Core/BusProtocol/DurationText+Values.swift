import BusJSON

/// Lengths of time as values of JSON: seconds, or a text.
extension DurationText {
    /// The milliseconds that a value stands for: a number of seconds, or a text such as `5m`; nil for anything else,
    /// for what is negative, and for what no clock reaches.
    package static func milliseconds(of value: JSON) -> Int? {
        switch value {
        case .int(let seconds): 0...mostSeconds ~= seconds ? seconds * 1000 : nil
        case .double(let seconds):
            0...Double(mostSeconds) ~= seconds ? Int((seconds * 1000).rounded()) : nil
        case .string(let text): milliseconds(text).flatMap { $0 <= mostSeconds * 1000 ? $0 : nil }
        default: nil
        }
    }

    /// The same where a client says it: nobody writes a longer text than `longestText`, and reading it costs its length.
    package static func milliseconds(requested value: JSON) -> Int? {
        if case .string(let text) = value, text.utf8.count > longestText { return nil }
        return milliseconds(of: value)
    }

    /// Every length of time that the bus takes can be written with fewer bytes.
    package static let longestText = 64

    /// Milliseconds as seconds: an integer where they come out even.
    package static func seconds(_ milliseconds: Int) -> JSON {
        milliseconds % 1000 == 0 ? .int(milliseconds / 1000) : .double(Double(milliseconds) / 1000)
    }

    /// Times in seconds since 1970 are values, too, and no clock shows a later one.
    private static let mostSeconds = 1_000_000_000_000

    /// The farthest a timer is set ahead, and the longest a lease lasts, in milliseconds: ten years. What is meant to
    /// last longer is mostly a mistake of units, such as milliseconds for seconds.
    package static let longest = 3653 * 86_400 * 1000
    /// The least of both: what renews itself can't keep the bus busy with more than a hundred commits a second.
    package static let shortest = 10
}
