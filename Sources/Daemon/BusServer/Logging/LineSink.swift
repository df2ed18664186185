import CLinux
import Glibc
import Synchronization

/// The way to standard error that all copies of a handler share.
///
/// Guarantees: it never waits. The reader of standard error may stop reading, and the queue that commits must not stall
/// because of that. A line for which there is no room is lost and counted, and the next one that gets through is
/// preceded by the number of those. Lines are never mixed, and one that was written in part is completed first.
///
/// Standard error is shared with other processes, so `O_NONBLOCK` is not set on it: that would affect them as well. A
/// pipe or a terminal is opened once more, for a description of our own that does not block; a socket gets a flag with
/// each write; a file never blocks. Where it can't be opened again, it is polled for room before each write, and other
/// processes could still fill it in between.
final class LineSink: Sendable {
    private enum Kind { case waitless, socket, asked }

    private struct State {
        /// The rest of a line that was written in part.
        var rest: [UInt8] = []
        var lost = 0
    }

    private let descriptor: Int32
    private let kind: Kind
    private let isOwn: Bool
    private let state = Mutex(State())

    /// As many bytes as a pipe with any room at all accepts without blocking, and in one piece: `PIPE_BUF`.
    private static let piece = 4096

    init(_ shared: Int32) {
        var status = stat()
        let format = fstat(shared, &status) == 0 ? status.st_mode & S_IFMT : 0
        switch format {
        case S_IFREG: (descriptor, kind, isOwn) = (shared, .waitless, false)
        case S_IFSOCK: (descriptor, kind, isOwn) = (shared, .socket, false)
        default:
            let own = open("/proc/self/fd/\(shared)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            (descriptor, kind, isOwn) = own >= 0 ? (own, .waitless, true) : (shared, .asked, false)
        }
    }

    deinit { if isOwn { close(descriptor) } }

    /// Writes a line, if there is room for it now. `notice` makes the line that says how many were lost.
    func write(_ line: String, notice: (Int) -> String) {
        state.withLock { state in
            guard finish(&state) else {
                state.lost += 1
                return
            }
            if state.lost > 0 {
                let count = state.lost
                state.rest = Array(notice(count).utf8)
                guard begin(&state) else {
                    state.lost += 1
                    return
                }
                state.lost = 0
                guard finish(&state) else {
                    state.lost = 1
                    return
                }
            }
            state.rest = Array(line.utf8)
            if !begin(&state) { state.lost += 1 }
        }
    }

    /// Writes new bytes; false if none of them could be written, and then they are dropped.
    private func begin(_ state: inout State) -> Bool {
        let count = state.rest.count
        if finish(&state) || state.rest.count < count { return true }
        state.rest = []
        return false
    }

    /// Writes the rest; false while some of it is left.
    private func finish(_ state: inout State) -> Bool {
        while !state.rest.isEmpty {
            let count = state.rest.withUnsafeBytes { bytes in
                write(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.piece)))
            }
            guard count > 0 else { return false }
            state.rest.removeFirst(count)
        }
        return true
    }

    /// The number of bytes written; 0 if none were.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        while true {
            if kind == .asked, !hasRoom { return 0 }
            let count =
                kind == .socket
                ? send(descriptor, bytes.baseAddress, bytes.count, linux_dont_wait | linux_no_signal)
                : Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            if count >= 0 { return count }
            if errno == EINTR { continue }
            // Nobody will ever read it: it counts as written.
            return errno == EAGAIN ? 0 : bytes.count
        }
    }

    private var hasRoom: Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, 0) == 1
    }
}
