import Glibc

/// A sync of the write-ahead log that runs beside the writing: what it makes durable is what had been written when it began.
package struct LogSync: Sendable {
    let descriptor: WriteAheadLogDescriptor
    /// How many transactions had been written.
    let transactions: Int
    /// The place in the shared log up to which the copy had come; nil for a local bus.
    let place: Int?

    /// Waits for the disk, on any thread, while the file is used on another. Returns 0 or the system's error, for `LogFile.endSync`.
    package func run() -> Int32 {
        while fdatasync(descriptor.number) != 0 {
            if errno != EINTR { return errno }
        }
        return 0
    }
}

/// A descriptor of the write-ahead log besides SQLite's, which belongs to the writer. Closed with the last reference.
final class WriteAheadLogDescriptor: Sendable {
    let number: Int32

    /// Nil where it can't be opened.
    init?(of log: String) {
        number = open("\(log)-wal", O_RDONLY | O_CLOEXEC)
        if number < 0 { return nil }
    }

    deinit { close(number) }
}

/// When appended groups are on disk. In each mode a crash of the daemon loses nothing: the kernel has everything.
package enum SyncMode: String, Sendable {
    /// When `append` returns.
    case always
    /// When `sync()` returns. A crash of the machine loses what came after it.
    case interval
    /// When the kernel writes it. A crash of the machine loses what was not written yet, never the file's consistency.
    case never
}
