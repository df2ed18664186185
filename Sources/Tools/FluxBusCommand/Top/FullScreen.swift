import BusSystem
import Glibc

/// A terminal whose whole screen a program has for itself: what was there comes back when it leaves.
final class FullScreen {
    private let output: Channel
    private let descriptor: Int32
    private let keyboard: Keyboard
    private var isEntered = false

    init(output: Channel, descriptor: Int32, input: Int32) {
        self.output = output
        self.descriptor = descriptor
        keyboard = Keyboard(isatty(input) == 1 ? input : nil)
    }

    /// To be polled for keys; nil where none come.
    var keys: Int32? { isEntered ? keyboard.descriptor : nil }

    func enter() throws {
        guard !isEntered else { return }
        isEntered = true
        keyboard.begin()
        // Another screen, without cursor; lines that are too long stay on their line.
        try output.write("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J")
        try output.flush()
    }

    /// Gives the terminal back. A failure can't be reported anywhere.
    func leave() {
        guard isEntered else { return }
        isEntered = false
        try? output.write("\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        try? output.flush()
        keyboard.end()
    }

    var size: TopScreen.Size {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return TopScreen.Size(columns: 80, rows: 24)
        }
        return TopScreen.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Draws a whole screen, in one piece.
    func draw(_ lines: [String]) throws {
        // Each line is erased before it is written: behind the last column that would erase its last character.
        try output.write("\u{1b}[H" + lines.map { "\u{1b}[2K" + $0 }.joined(separator: "\r\n"))
        try output.flush()
    }

    /// What was typed; empty at its end, after which nothing more comes.
    func read() -> [UInt8] { keyboard.read() }
}

/// Keys as they are pressed, where they come from a terminal; else the bytes of standard input.
final class Keyboard {
    /// To be polled; nil where none come.
    private(set) var descriptor: Int32?
    private var saved: termios?

    init(_ descriptor: Int32?) { self.descriptor = descriptor }

    /// Keys come at once and unseen; Ctrl-C and Ctrl-Z stay what they are.
    func begin() {
        var settings = termios()
        guard let descriptor, isatty(descriptor) == 1, tcgetattr(descriptor, &settings) == 0 else { return }
        saved = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        settings.c_iflag &= ~tcflag_t(IXON)
        tcsetattr(descriptor, TCSANOW, &settings)
    }

    /// Leaves the terminal as it was.
    func end() {
        if let descriptor, var saved { tcsetattr(descriptor, TCSANOW, &saved) }
        saved = nil
    }

    /// What was typed; empty at its end, after which nothing more comes.
    func read() -> [UInt8] {
        guard let descriptor else { return [] }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { self.descriptor = nil }
        return Array(bytes.prefix(max(0, count)))
    }
}

/// One line of a full-screen program: pieces of text with their colours, as wide as the screen at most.
struct ScreenLine {
    private var pieces: [(text: String, role: Style.Role)] = []
    private(set) var columns = 0

    init(_ text: String = "", _ role: Style.Role = .plain) { add(text, role) }

    var isEmpty: Bool { pieces.isEmpty }

    mutating func add(_ text: String, _ role: Style.Role = .plain) {
        guard !text.isEmpty else { return }
        pieces.append((text, role))
        columns += ScreenText.columns(of: text)
    }

    /// Spaces up to a column.
    mutating func pad(to column: Int) {
        if column > columns { add(String(repeating: " ", count: column - columns)) }
    }

    /// The line for a terminal with this many columns. What is not ASCII is replaced where the terminal can't show it.
    func text(width: Int, style: Style, isUTF8: Bool) -> String {
        var result = ""
        var room = width
        for piece in pieces where room > 0 {
            let text = ScreenText.cut(piece.text, toColumns: room)
            room -= ScreenText.columns(of: text)
            result += style.paint(isUTF8 ? text : Self.ascii(text), piece.role)
        }
        return result
    }

    private static func ascii(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return text.reduce(into: "") { result, character in
            switch character {
            case "µ": result += "u"
            case "…": result += "~"
            case "–": result += "-"
            case "▼": result += "v"
            default: result += character.isASCII ? String(character) : "?"
            }
        }
    }
}
