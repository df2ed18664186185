import BusSystem
import CLinux
import FluxBus
import Glibc

/// Stands in for the service manager: receives the beats of the daemon's watchdog, and records when they came.
final class BeatEar {
    /// How far apart two beats may be.
    static let interval: UInt64 = 2_000_000_000

    private let path: String
    private let descriptor: Int32
    private var last: UInt64
    private(set) var longest: UInt64 = 0
    private(set) var beats = 0

    /// The variables with which the daemon is started.
    var variables: [String] { ["NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=\(Self.interval / 1000)"] }

    init(at path: String) throws(BusError) {
        self.path = path
        last = nanoseconds()
        descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard UnixAddress(path).bind(descriptor) == 0 else {
            throw BusError(.internal, "\(path) can't be a socket; name another place with --directory.")
        }
    }

    deinit { close(descriptor) }

    /// Discards earlier beats and starts counting.
    func begin() {
        hear()
        last = nanoseconds()
        longest = 0
        beats = 0
    }

    /// Listens for this many milliseconds, or until a notification comes.
    func listen(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, milliseconds) > 0 { hear() }
    }

    /// The time since the last beat counts too.
    func end() {
        hear()
        longest = max(longest, nanoseconds() - last)
    }

    private func hear() {
        var bytes = [UInt8](repeating: 0, count: 8192)
        while true {
            // Descriptors that come along are closed by the kernel, because there is no room for them.
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count >= 0 else { return }
            let lines = bytes[..<count].split(separator: 0x0a)
            guard lines.contains(where: { $0.elementsEqual("WATCHDOG=1".utf8) }) else { continue }
            let now = nanoseconds()
            longest = max(longest, now - last)
            last = now
            beats += 1
        }
    }
}
