import CSystemd
import Glibc

/// A socket that sends messages to one name, each whole or not at all.
///
/// The name is looked up for every message, not once: a receiver that was started anew is reached again. EINTR is
/// tried again; a full queue is waited for, or told as `busy`, as the caller wishes.
final class DatagramSocket: Sendable {
    private let descriptor: Int32
    private let name: SocketName
    /// Who is at the other end, for sentences.
    private let receiver: String

    init(to name: SocketName, receiver: String) throws(SystemdError) {
        descriptor = socket(AF_UNIX, Int32(systemd_datagram) | systemd_close_on_exec, 0)
        guard descriptor >= 0 else { throw SystemdError.failed("socket") }
        self.name = name
        self.receiver = receiver
    }

    deinit { close(descriptor) }

    /// Asks the kernel for a larger queue. It may give less, which costs speed, not correctness.
    func widen(to bytes: Int32) {
        var size = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    func send(
        _ bytes: UnsafeRawBufferPointer, descriptors: [Int32] = [], waiting: Bool
    ) throws(SystemdError) {
        var piece = iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        while true {
            let count = name.withAddress { address, length in
                systemd_send(
                    descriptor, address, length, &piece, bytes.isEmpty ? 0 : 1, descriptors,
                    descriptors.count,
                    waiting ? 0 : systemd_dont_wait)
            }
            if count >= 0 { return }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                throw SystemdError(
                    .busy, "\(receiver) has not read its earlier messages; try again later.",
                    systemCode: EAGAIN)
            case EMSGSIZE, ENOBUFS:
                throw SystemdError(
                    .tooLarge, "A message of \(bytes.count) bytes is too large for \(receiver); send less.",
                    systemCode: errno)
            case ENOENT, ECONNREFUSED:
                throw SystemdError.failed(
                    "Sending to \(receiver)", advice: "Nobody listens there; check that it runs.")
            default: throw SystemdError.failed("Sending to \(receiver)")
            }
        }
    }
}
