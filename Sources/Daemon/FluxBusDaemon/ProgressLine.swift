import BusProtocol
import Glibc

/// Draws how far a check of a log is, where messages go to a terminal, once it takes long; it is gone at the end.
final class ProgressLine {
    private let bar: ProgressBar
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var next = ProgressBar.patience
    private var isDrawn = false

    init(_ label: String) { bar = ProgressBar(label) }

    func reached(_ done: Int, of total: Int) {
        guard isTerminal else { return }
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        guard elapsed >= next else { return }
        next = elapsed + ProgressBar.interval
        var size = winsize()
        let columns = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) : 0
        // The last column stays free: behind it some terminals begin a new line.
        let width = (columns > 0 ? columns : 80) - 1
        FileStream.stderr.write(
            part: "\r\u{1b}[K" + bar.text(done: done, total: total, elapsed: elapsed, width: width))
        isDrawn = true
    }

    /// Writes a line of the result above it.
    func write(_ line: String) {
        erase()
        FileStream.stdout.write(line)
    }

    func erase() {
        guard isDrawn else { return }
        isDrawn = false
        FileStream.stderr.write(part: "\r\u{1b}[K")
    }
}
