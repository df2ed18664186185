#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A terminal whose whole screen a program has for itself: what was there comes back when it leaves.
final class FullScreen {
    private let output: Channel
    private let descriptor: Int32
    /// Nil where keys don't come from a terminal.
    private var keyboard: Int32?
    private var saved: termios?
    private var isEntered = false

    init(output: Channel, descriptor: Int32, input: Int32) {
        self.output = output
        self.descriptor = descriptor
        keyboard = isatty(input) == 1 ? input : nil
    }

    /// To be polled for keys; nil where none come.
    var keys: Int32? { isEntered ? keyboard : nil }

    func enter() throws {
        guard !isEntered else { return }
        isEntered = true
        if let keyboard {
            var settings = termios()
            if tcgetattr(keyboard, &settings) == 0 {
                saved = settings
                // Keys at once and unseen; Ctrl-C and Ctrl-Z stay what they are.
                settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
                settings.c_iflag &= ~tcflag_t(IXON)
                tcsetattr(keyboard, TCSANOW, &settings)
            }
        }
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
        if let keyboard, var saved { tcsetattr(keyboard, TCSANOW, &saved) }
        saved = nil
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
    func read() -> [UInt8] {
        guard let keyboard else { return [] }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(keyboard, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { self.keyboard = nil }
        return Array(bytes.prefix(max(0, count)))
    }
}
