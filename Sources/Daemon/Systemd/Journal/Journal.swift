import CSystemd
import Glibc

/// The system's journal: entries with fields instead of lines of text, written by libsystemd.
///
/// ```swift
/// let journal = Journal.isStandardError() ? Journal(identifier: "fluxbusd") : nil
/// try journal?.send(JournalEntry("listening", priority: .notice))
/// ```
public struct Journal: Sendable {
    private let identifier: String

    /// - Parameter identifier: The name that `journalctl` shows before each message (SYSLOG_IDENTIFIER).
    public init(identifier: String) { self.identifier = identifier }

    /// Writes one entry (`sd_journal_sendv`): whole or not at all, of any size. It waits while the journal does not
    /// keep up; a queue that must not stall has a ``NonblockingJournal``.
    ///
    /// - Throws: `system` if it can't be written. A missing journal is no failure: nobody would read the entry.
    public func send(_ entry: JournalEntry) throws(SystemdError) {
        let fields = entry.fields(of: identifier)
        let bytes = fields.flatMap(\.self)
        let answer = bytes.withUnsafeBytes { bytes in
            var offset = 0
            let pieces = fields.map { field in
                defer { offset += field.count }
                return iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + offset }),
                    iov_len: field.count)
            }
            return sd_journal_sendv(pieces, Int32(pieces.count))
        }
        if answer < 0 { throw SystemdError.failed("Writing to the journal", -answer) }
    }

    /// True if `JOURNAL_STREAM` names what standard error is connected to, so that messages go to the journal anyway.
    /// An operator who redirected it to a file or a terminal wants them there, although the variable is still set.
    ///
    /// libsystemd has no call for it.
    public static func isStandardError(descriptor: Int32 = STDERR_FILENO) -> Bool {
        guard let text = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return false }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else {
            return false
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}
