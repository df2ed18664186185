import CSystemd
import Glibc

/// The system's journal, written to in its own protocol: entries with fields instead of lines of text.
///
/// Why its own code and not `sd_journal_sendv`: that one knows one socket only, the system's, so a test could not read
/// what was sent; and it always waits, while a daemon must not stand still because the journal does.
///
/// What it guarantees: an entry arrives whole or not at all, of whatever size: what does not fit into a message goes
/// in a sealed file in memory.
///
/// ```swift
/// let journal = Journal.isStandardError(environment) ? try Journal(identifier: "fluxbusd") : nil
/// try journal?.send(JournalEntry("listening", priority: .notice))
/// ```
public struct Journal: Sendable {
    /// Where journald listens.
    public static let defaultPath = "/run/systemd/journal/socket"

    private let socket: DatagramSocket
    private let prefix: [UInt8]

    /// - Parameters:
    ///   - path: The socket, another one in tests. It need not exist yet.
    ///   - identifier: The name that `journalctl` shows before each message (SYSLOG_IDENTIFIER).
    public init(path: String = Journal.defaultPath, identifier: String) throws(SystemdError) {
        let name = try SocketName(path, from: "The path of the journal's socket")
        socket = try DatagramSocket(to: name, receiver: "the journal")
        // As libsystemd asks for: most entries then fit into a message.
        socket.widen(to: 8 << 20)
        prefix = Array("SYSLOG_IDENTIFIER=\(identifier.filter { $0 != "\n" })\n".utf8)
    }

    /// Writes one entry.
    ///
    /// - Parameter waiting: Whether to wait when the journal does not keep up; if not, that is `busy`, and the caller
    ///   counts what it could not tell.
    /// - Throws: `busy`; `system` if there is no journal.
    public func send(_ entry: JournalEntry, waiting: Bool = true) throws(SystemdError) {
        let bytes = prefix + entry.bytes
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemdError) in
                do throws(SystemdError) {
                    try socket.send(bytes, waiting: waiting)
                } catch {
                    guard error.code == .tooLarge else { throw error }
                    try sendAsFile(bytes, waiting: waiting)
                }
            }
        }
        try outcome.get()
    }

    private func sendAsFile(_ bytes: UnsafeRawBufferPointer, waiting: Bool) throws(SystemdError) {
        let file = try StoredState.write(bytes, name: "journal-entry")
        defer { close(file) }
        try socket.send(UnsafeRawBufferPointer(start: nil, count: 0), descriptors: [file], waiting: waiting)
    }
}
