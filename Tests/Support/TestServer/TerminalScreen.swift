/// What somebody sees who looks at a terminal: made of the bytes that a program writes to it.
///
/// It understands what full-screen programs here use: moving to the corner, erasing, the alternate screen, hiding the
/// cursor, wrapping lines or not. Everything else that begins with an escape is left out.
package struct TerminalScreen {
    package private(set) var rows: Int
    package private(set) var columns: Int
    package private(set) var isAlternate = false
    package private(set) var hidesCursor = false
    package private(set) var wraps = true
    /// Lines were longer than the screen is wide.
    package private(set) var hasOverflowed = false

    private var lines: [[Character]]
    private var main: [[Character]] = []
    /// Where the cursor was on the main screen.
    private var place = (row: 0, column: 0)
    private var row = 0
    private var column = 0
    /// Bytes of a character or a sequence that is not complete.
    private var pending: [UInt8] = []

    package init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
        lines = Array(repeating: [], count: rows)
    }

    /// The text of each line, without spaces at its end.
    package var text: [String] {
        lines.map { line in
            var end = line.endIndex
            while end > 0, line[end - 1] == " " { end -= 1 }
            return String(line[..<end])
        }
    }

    /// All of it, for a search.
    package var all: String { text.joined(separator: "\n") }

    package mutating func resize(rows: Int, columns: Int) {
        (self.rows, self.columns) = (rows, columns)
        lines = Array((lines + Array(repeating: [], count: rows)).prefix(rows))
        main = Array((main + Array(repeating: [], count: rows)).prefix(rows))
        (row, column) = (min(row, rows - 1), min(column, columns - 1))
    }

    package mutating func take(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            pending.append(byte)
            if pending[0] == 0x1b { takeSequence() } else { takeCharacter() }
        }
    }

    private mutating func takeSequence() {
        guard pending.count > 1 else { return }
        guard pending[1] == UInt8(ascii: "[") else { return pending = [] }
        guard pending.count > 2, let last = pending.last, 0x40...0x7e ~= last else { return }
        let parameters = String(decoding: pending[2..<(pending.count - 1)], as: UTF8.self)
        pending = []
        switch (last, parameters) {
        case (UInt8(ascii: "H"), ""): (row, column) = (0, 0)
        case (UInt8(ascii: "J"), "2"): lines = Array(repeating: [], count: rows)
        case (UInt8(ascii: "K"), "2"): lines[row] = []
        case (UInt8(ascii: "K"), ""): lines[row] = Array(lines[row].prefix(column))
        case (UInt8(ascii: "h"), "?1049"): enterAlternate()
        case (UInt8(ascii: "l"), "?1049"): leaveAlternate()
        case (UInt8(ascii: "l"), "?25"): hidesCursor = true
        case (UInt8(ascii: "h"), "?25"): hidesCursor = false
        case (UInt8(ascii: "l"), "?7"): wraps = false
        case (UInt8(ascii: "h"), "?7"): wraps = true
        default: break
        }
    }

    private mutating func enterAlternate() {
        guard !isAlternate else { return }
        (isAlternate, main, place) = (true, lines, (row, column))
        lines = Array(repeating: [], count: rows)
    }

    private mutating func leaveAlternate() {
        guard isAlternate else { return }
        (isAlternate, lines) = (false, main)
        (row, column) = (min(place.row, rows - 1), min(place.column, columns - 1))
    }

    private mutating func takeCharacter() {
        switch pending[0] {
        case 0x0d: column = 0
        case 0x0a:
            if row < rows - 1 { row += 1 } else { lines = lines.dropFirst() + [[]] }
        case 0..<0x20, 0x7f: break
        default:
            guard let text = String(validating: pending, as: UTF8.self), let character = text.first else {
                if pending.count > 3 { pending = [] }
                return
            }
            put(character)
        }
        pending = []
    }

    private mutating func put(_ character: Character) {
        if column >= columns {
            hasOverflowed = true
            guard wraps else { return }
            column = 0
            if row < rows - 1 { row += 1 } else { lines = lines.dropFirst() + [[]] }
        }
        while lines[row].count <= column { lines[row].append(" ") }
        lines[row][column] = character
        column += 1
    }
}
