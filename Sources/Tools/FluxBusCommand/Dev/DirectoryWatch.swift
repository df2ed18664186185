import BusSystem
import Glibc

/// Tells when a file of a directory has changed.
final class DirectoryWatch {
    /// To be polled: readable when something has changed.
    let descriptor: Int32

    /// Editors write a file in several steps; this many milliseconds of quiet are the end of them.
    private static let quiet: Int32 = 30

    init(_ directory: String) throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
        guard descriptor >= 0, inotify_add_watch(descriptor, directory, events) >= 0 else {
            throw CommandFailure(.usage, "\(directory) can't be watched: \(systemReason()).")
        }
    }

    deinit { close(descriptor) }

    /// Takes what has happened, and waits until no more does. True if a file of types may have changed.
    func changed() -> Bool {
        var isChanged = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        repeat {
            let count = read(descriptor, &buffer, buffer.count)
            isChanged =
                isChanged || Self.names(in: buffer.prefix(max(0, count))).contains { !$0.hasPrefix(".") }
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&waiting, 1, Self.quiet) <= 0 { return isChanged }
        } while true
    }

    /// The names in events: each is 16 bytes, the last four of which tell how long the name behind them is.
    private static func names(in events: ArraySlice<UInt8>) -> [String] {
        var names: [String] = []
        var rest = events
        while rest.count >= 16 {
            let start = rest.startIndex
            let length = (12..<16).reversed().reduce(0) { $0 << 8 | Int(rest[start + $1]) }
            names.append(
                String(decoding: rest.dropFirst(16).prefix(length).prefix { $0 != 0 }, as: UTF8.self))
            rest = rest.dropFirst(16 + length)
        }
        return names
    }
}
