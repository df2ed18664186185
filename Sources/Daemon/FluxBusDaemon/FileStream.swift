import Glibc

/// Whole lines to the standard streams. The reader may have stopped reading: the daemon waits no longer for it than
/// people do, and must end even if it can't report why.
enum FileStream: Int32 {
    case stdout = 1
    case stderr = 2

    /// How long a line waits for room, in milliseconds.
    private static let patience: Int32 = 1000
    /// As many bytes as a pipe with room accepts without blocking: `PIPE_BUF`.
    private static let piece = 4096

    func write(_ text: String) { write(part: text + "\n") }

    /// Writes what does not end its line.
    func write(part text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                var room = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                let isReady = poll(&room, 1, Self.patience)
                if isReady < 0, errno == EINTR { continue }
                if isReady == 0 { return }
                let piece = UnsafeBufferPointer(rebasing: rest.prefix(Self.piece))
                let count = Glibc.write(rawValue, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                // The stream has no reader.
                if count <= 0 { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
