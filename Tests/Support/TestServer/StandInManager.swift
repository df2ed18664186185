import CLinux
import CSystemd
import Glibc
import TestFiles

/// A datagram socket that stands in for the service manager, or for the journal: it keeps what it is told.
package final class StandInManager {
    package struct Datagram {
        package let text: String
        package let descriptors: [Int32]
    }

    /// As it goes into NOTIFY_SOCKET.
    package let name: String
    private let descriptor: Int32
    private let directory: TemporaryDirectory?

    /// - Parameter isAbstract: In the kernel's own name space instead of a file.
    package init(isAbstract: Bool = false) {
        let directory = isAbstract ? nil : TemporaryDirectory()
        let name = directory.map { "\($0.path)/notify" } ?? ""
        let (descriptor, drawn) = Self.bind(to: name)
        // A net for those who wait.
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        self.descriptor = descriptor
        self.directory = directory
        self.name = isAbstract ? "@\(drawn)" : name
    }

    /// Binds to a path. For an empty one the kernel draws an abstract name, which comes back without its zero.
    private static func bind(to path: String) -> (Int32, String) {
        let descriptor = socket(AF_UNIX, systemd_datagram | systemd_close_on_exec, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let whole = socklen_t(MemoryLayout<sockaddr_un>.size)
        let before = socklen_t(MemoryLayout<sa_family_t>.size)
        var length = path.isEmpty ? before : whole
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.bind(descriptor, $0, length)
                length = whole
                getsockname(descriptor, $0, &length)
            }
        }
        let drawn = withUnsafeBytes(of: &address.sun_path) {
            String(decoding: $0[1..<Int(length - before)], as: UTF8.self)
        }
        return (descriptor, drawn)
    }

    deinit { close(descriptor) }

    /// Stands in for the service manager through the environment, as libsystemd reads it, and for the journal by its name.
    /// Only in a process of its own (`#expect(processExitsWith:)`): in this one other tests read the environment.
    package static func stand(isAbstract: Bool = false, _ body: (StandInManager) throws -> Void) rethrows {
        // What waits for the manager must not hold up whoever waits for this process.
        alarm(50)
        let manager = StandInManager(isAbstract: isAbstract)
        setenv("NOTIFY_SOCKET", manager.name, 1)
        defer { withExtendedLifetime(manager) {} }
        try body(manager)
    }

    /// Leaves no room for another datagram; returns how many there are.
    package func fill() -> Int {
        let sender = socket(AF_UNIX, systemd_datagram | systemd_close_on_exec, 0)
        defer { close(sender) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        var piece = iovec()
        var count = 0
        while linux_send_message(sender, &address, length, &piece, 0, nil, 0, systemd_dont_wait) >= 0 {
            count += 1
        }
        return count
    }

    /// Whether nothing comes for a time, in milliseconds.
    package func isSilent(for time: Int32) -> Bool {
        var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, time) == 0
    }

    /// The next datagram; nil if none is there. What was sent on this machine is there, so most tests need not wait.
    package func next(waiting: Bool = false) -> Datagram? {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var descriptors = [Int32](repeating: -1, count: 253)
        var count = 0
        var isCut: Int32 = 0
        let size = linux_receive_message(
            descriptor, &buffer, buffer.count, &descriptors, &count, &isCut,
            waiting ? 0 : systemd_dont_wait)
        guard size >= 0, isCut == 0 else { return nil }
        return Datagram(
            text: String(decoding: buffer[..<size], as: UTF8.self), descriptors: Array(descriptors[..<count]))
    }
}
