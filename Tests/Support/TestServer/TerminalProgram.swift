import BusSystem
import Foundation

/// A program that runs in a terminal of its own, as from a shell's prompt: it can be looked at, typed to, and resized. It
/// is killed when it is let go.
package final class TerminalProgram {
    package struct Failure: Error { package let message: String }

    package private(set) var screen: TerminalScreen
    /// Every byte that it has written.
    package private(set) var output: [UInt8] = []
    package let pid: pid_t
    private let terminal: Int32
    /// Keeps the terminal as it is left, for a look at its settings.
    private let other: Int32
    private var status: Int32?

    package init(
        _ words: [String], environment: [String: String], rows: Int = 24, columns: Int = 80
    ) throws {
        screen = TerminalScreen(rows: rows, columns: columns)
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // TIOCSPTLCK and TIOCGPTN: unlocks its other end, and tells the number of that.
        var (lock, number): (Int32, UInt32) = (0, 0)
        guard terminal >= 0, ioctl(terminal, 0x4004_5431, &lock) == 0,
            ioctl(terminal, 0x8004_5430, &number) == 0
        else {
            throw Failure(message: "No terminal can be made: \(String(cString: strerror(errno)))")
        }
        let path = "/dev/pts/\(number)"
        other = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        var window = Self.window(rows, columns)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &window)
        let side = Spawning.Stream.file(path, flags: O_RDWR)
        // As the leader of a session whose terminal it is.
        pid = try Spawning.start(
            ["/usr/bin/setsid", "--ctty"] + words, variables: environment.map { "\($0)=\($1)" },
            streams: [0: side, 1: side, 2: side], closesOthers: true, hasDefaultSignals: true)
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            var ending: Int32 = 0
            waitpid(pid, &ending, 0)
        }
        close(terminal)
        close(other)
    }

    private static func window(_ rows: Int, _ columns: Int) -> winsize {
        winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    }

    // MARK: - Looking

    /// Reads until the screen is as it should be; false when that is not so within two minutes, or at its end.
    package func shows(_ isRight: (TerminalScreen) -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(120)
        while !isRight(screen) {
            guard ContinuousClock.now < deadline, readSome() else { return isRight(screen) }
        }
        return true
    }

    package func shows(_ text: String) -> Bool { shows { $0.all.contains(text) } }

    /// False at the end.
    private func readSome(within milliseconds: Int32 = 1000) -> Bool {
        var entry = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return !hasEnded }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(terminal, &bytes, bytes.count)
        guard count > 0 else { return count < 0 && errno == EINTR }
        output += bytes[..<count]
        screen.take(bytes[..<count])
        return true
    }

    private var hasEnded: Bool {
        guard status == nil else { return true }
        var ending: Int32 = 0
        guard waitpid(pid, &ending, WNOHANG) == pid else { return false }
        status = ending
        return true
    }

    /// Whether lines are edited and typing is seen, as a shell leaves it.
    package var isCooked: Bool {
        var settings = termios()
        tcgetattr(other, &settings)
        return settings.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }

    // MARK: - Doing

    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }

    package func resize(rows: Int, columns: Int) {
        screen.resize(rows: rows, columns: columns)
        var window = Self.window(rows, columns)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &window)
    }

    package func signal(_ number: Int32) { kill(pid, number) }

    /// Waits for its end: its exit code, or the negative number of the signal that ended it. Nil if it does not end.
    package func wait() -> Int32? {
        let deadline = ContinuousClock.now + .seconds(120)
        while !hasEnded {
            guard ContinuousClock.now < deadline else { return nil }
            _ = readSome(within: 20)
        }
        // What it wrote last.
        var entry = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLIN) != 0, readSome() {}
        guard let status else { return nil }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : -signal
    }
}
