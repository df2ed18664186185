import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A destination of output: a descriptor, or memory for tests. Bytes are collected and written in large pieces.
package final class Channel {
    /// The descriptor written to; nil in memory.
    package let descriptor: Int32?
    package let isTerminal: Bool
    /// Columns of the terminal; nil when there is none or its width is unknown.
    private let fixedWidth: Int?
    private let gathered = ByteWriter(capacity: 4096)

    /// How much is collected before it is written without a flush.
    private static let largePiece = 65536

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        fixedWidth = nil
    }

    /// A channel into memory, which may pretend to be a terminal.
    package init(memoryAsTerminal isTerminal: Bool = false, width: Int? = nil) {
        descriptor = nil
        self.isTerminal = isTerminal
        fixedWidth = width
    }

    /// What has been written into memory so far.
    package var text: String { gathered.text }

    /// How many columns there are; nil when lines may have any length.
    package var width: Int? {
        guard let descriptor else { return fixedWidth }
        guard isTerminal else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    package func write(_ text: String) throws {
        gathered.append(raw: text)
        try writeIfLarge()
    }

    package func write(line: [UInt8]) throws {
        line.withUnsafeBytes { gathered.append($0) }
        gathered.append(UInt8(ascii: "\n"))
        try writeIfLarge()
    }

    package func write(line value: JSON) throws {
        gathered.append(json: value)
        gathered.append(UInt8(ascii: "\n"))
        try writeIfLarge()
    }

    private func writeIfLarge() throws {
        if gathered.count >= Self.largePiece { try flush() }
    }

    /// Writes everything collected. A reader that has closed the pipe ends the command quietly.
    package func flush() throws {
        guard let descriptor else { return }
        defer { gathered.clear() }
        var rest = gathered.bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // The descriptor is non-blocking: wait for it.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            } else if errno == EPIPE {
                throw CommandFailure(.success, "")
            } else if errno != EINTR {
                throw CommandFailure(
                    .internal,
                    "The output can't be written (\(String(cString: strerror(errno)))): check where it goes."
                )
            }
        }
    }
}
