import CLinux
import Glibc
import Synchronization

/// The way to standard error that all copies of a handler share.
///
/// What it guarantees: it never waits. Whoever reads standard error may stop reading, and the queue that commits must not
/// stand still because of that. A line for which there is no room is lost and counted, and the next one that gets through
/// is preceded by the number of those. Lines are never mixed, and one of which a part was written is ended first.
///
/// Standard error is shared with others, so `O_NONBLOCK` is not set on it: that would be theirs as well. A pipe or a
/// terminal is opened once more, for an own description that does not block; a socket is told with each write; a file
/// makes nobody wait. Where it can't be opened again, it is asked for room before each write, which leaves it to the
/// others not to fill it in between.
final class LineSink: Sendable {
    private enum Kind { case waitless, socket, asked }

    private struct State {
        /// Of the line that was written in part.
        var rest: [UInt8] = []
        var lost = 0
    }

    private let descriptor: Int32
    private let kind: Kind
    private let isOwn: Bool
    private let state = Mutex(State())

    /// As many bytes as a pipe that has room at all takes without waiting, and in one piece: `PIPE_BUF`.
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

    /// Writes a line, if there is room for it now. `notice` makes the line that tells how many were lost.
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

    /// Writes what is new; false if nothing of it could be written, and then it is as if it had never been.
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

    /// How many bytes went; 0 if none did.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        while true {
            if kind == .asked, !hasRoom { return 0 }
            let count =
                kind == .socket
                ? send(descriptor, bytes.baseAddress, bytes.count, linux_dont_wait | linux_no_signal)
                : Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            if count >= 0 { return count }
            if errno == EINTR { continue }
            // Nobody will ever read it: then it is as good as written.
            return errno == EAGAIN ? 0 : bytes.count
        }
    }

    private var hasRoom: Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, 0) == 1
    }
}
