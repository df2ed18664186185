/// The behaviour of one hostile connection: bytes made ahead of time, when they are sent,
/// and whether it reads and stays.
struct AttackScript: Sendable {
    /// When the next piece is sent.
    enum Pace: Sendable {
        /// As soon as the socket accepts it.
        case atOnce
        /// This many milliseconds after the previous one.
        case every(Int)
        /// When so many lines have come for each piece that was sent.
        case afterAnswers(Int)
    }

    /// When the connection closes, to reconnect at once.
    enum Leaving: Sendable {
        case never
        /// When all its pieces are sent, without waiting for any answer.
        case whenSent
        /// When anything has come.
        case whenHeard
        /// When this many lines have come.
        case whenAnswered(lines: Int)
        /// When all connections of the attack have received this many lines, and then all of them in one moment.
        case together(lines: Int)
    }

    /// Counts pieces: of all connections, and of this one since it was opened.
    struct Turn: Sendable {
        let number: Int
        let own: Int
    }

    /// Sent once, by the connection's number among all that were ever made.
    var opening: @Sendable (Int) -> [UInt8] = { _ in [] }
    /// The next piece, over and over; nil for nothing more.
    var piece: (@Sendable (Turn) -> [UInt8])?
    var reads = true
    var pace = Pace.atOnce
    var leaving = Leaving.never
    /// It connects to where TLS is spoken.
    var isSecure = false
}

/// Lines as a script sends them.
enum AttackLines {
    /// About how many bytes a piece has that consists of short lines.
    static let pieceBytes = 64 << 10

    /// The same line, repeated until it makes a piece.
    static func piece(_ line: String, bytes: Int = pieceBytes) -> [UInt8] {
        let line = Array((line + "\n").utf8)
        return Array(repeatElement(line, count: max(1, bytes / line.count)).joined())
    }

    static func lines(_ count: Int, _ line: (Int) -> String) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in 0..<count {
            bytes += line(number).utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    static func line(_ text: String) -> [UInt8] { Array((text + "\n").utf8) }

    /// This many pieces, made ahead of time and sent in turn: making them meanwhile would take CPU from the bus.
    static func prepared(
        _ count: Int = 64, _ piece: (Int) -> [UInt8]
    ) -> @Sendable (Int) -> [UInt8] {
        let pieces = (0..<count).map(piece)
        return { pieces[$0 % count] }
    }

    static let numberDigits = 12

    /// Lines that are the same but for one number each. Only its digits are rewritten, so that making them
    /// costs less than reading them.
    struct Numbered: Sendable {
        private let count: Int
        private let template: [UInt8]
        private let places: [Int]

        /// `count` copies of this line, whose last `#` is the place of the number.
        init(_ count: Int, _ line: String) {
            self.count = count
            let bytes = Array((line + "\n").utf8)
            let mark = bytes.lastIndex(of: UInt8(ascii: "#")) ?? 0
            let zeros = [UInt8](repeating: UInt8(ascii: "0"), count: numberDigits)
            let one = bytes[..<mark] + zeros + bytes[(mark + 1)...]
            template = Array(repeatElement(one, count: count).joined())
            places = (0..<count).map { $0 * one.count + mark + numberDigits - 1 }
        }

        func bytes(from first: Int) -> [UInt8] {
            var bytes = template
            for (index, place) in places.enumerated() {
                var (number, digit) = (first + index, place)
                while number > 0 {
                    bytes[digit] = UInt8(ascii: "0") + UInt8(number % 10)
                    (number, digit) = (number / 10, digit - 1)
                }
            }
            return bytes
        }
    }

    /// A batch of this many actions.
    static func batch(_ count: Int, op: String = "dispatch", _ action: (Int) -> String) -> String {
        let actions = (0..<count).map(action).joined(separator: ",")
        return #"{"op":"\#(op)","actions":[\#(actions)]}"#
    }

    /// Numbers spread over `0..<count`, the same in every run.
    static func scattered(_ number: Int, among count: Int) -> Int {
        var bits = UInt64(truncatingIfNeeded: number) &* 0x9e37_79b9_7f4a_7c15
        bits ^= bits >> 29
        return Int(bits % UInt64(max(1, count)))
    }
}
