import CLinux
import CSystemd
import Glibc

/// The system's journal for callers that may not wait: an entry that it has no room for is refused.
///
/// Why its own code and not `sd_journal_sendv`: that one always waits while the journal does not keep up, and a queue
/// that commits must not stall because the journal does. Waiting on a queue beside it would lose the last entries of a
/// process that crashes, which are the ones that matter.
///
/// Guarantees: an entry arrives whole or not at all, of any size (what does not fit into a message goes in a sealed
/// file in memory); and a journal that was restarted is reached again.
public final class NonblockingJournal: Sendable {
    /// Where journald listens.
    public static let defaultPath = "/run/systemd/journal/socket"

    private let descriptor: Int32
    private let address: sockaddr_un
    private let identifier: String

    /// - Parameters:
    ///   - path: The socket, a different one in tests. It need not exist yet.
    ///   - identifier: The name that `journalctl` shows before each message (SYSLOG_IDENTIFIER).
    public init(path: String = NonblockingJournal.defaultPath, identifier: String) throws(SystemdError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemdError(
                .name, "The path of the journal's socket, \(path), is too long; name another one.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        self.address = address
        self.identifier = identifier
        descriptor = socket(AF_UNIX, systemd_datagram | systemd_close_on_exec, 0)
        guard descriptor >= 0 else { throw SystemdError.failed("socket") }
        // The size that libsystemd requests: most entries then fit into a message. The kernel may give less.
        var size: Int32 = 8 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Writes one entry.
    ///
    /// - Throws: `busy` if the journal does not keep up: the caller counts the lost entries;
    ///   `system` if there is no journal.
    public func send(_ entry: JournalEntry) throws(SystemdError) {
        let bytes = Self.message(entry.fields(of: identifier))
        switch pass(bytes, descriptors: []) {
        case 0: return
        case EMSGSIZE, ENOBUFS:
            let file = try StoredState.write(bytes, name: "journal-entry")
            defer { close(file) }
            try check(pass([], descriptors: [file]))
        case let number: try check(number)
        }
    }

    /// Zero, or the kernel's number.
    private func pass(_ bytes: [UInt8], descriptors: [Int32]) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            withUnsafePointer(to: address) { address in
                var piece = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                while true {
                    let count = linux_send_message(
                        descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size), &piece,
                        bytes.isEmpty ? 0 : 1, descriptors, descriptors.count, systemd_dont_wait)
                    if count >= 0 { return 0 }
                    if errno != EINTR { return errno }
                }
            }
        }
    }

    private func check(_ number: Int32) throws(SystemdError) {
        switch number {
        case 0: return
        case EAGAIN:
            throw SystemdError(
                .busy, "The journal has not read its earlier messages; try again later.", systemCode: number)
        default: throw SystemdError.failed("Sending to the journal", number)
        }
    }

    /// The journal's native protocol: a line for each field; a value with a line end has its length before it.
    private static func message(_ fields: [[UInt8]]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var message: [UInt8] = []
        for field in fields {
            if field.contains(newline), let end = field.firstIndex(of: UInt8(ascii: "=")) {
                message += field[..<end]
                message.append(newline)
                let length = UInt64(field.count - end - 1).littleEndian
                withUnsafeBytes(of: length) { message.append(contentsOf: $0) }
                message += field[(end + 1)...]
            } else {
                message += field
            }
            message.append(newline)
        }
        return message
    }
}
