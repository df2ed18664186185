import CLinux
import Glibc

/// One non-blocking connection of the innocent client: lines out, lines in.
final class InnocentLink {
    private let descriptor: Int32
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var incoming: [UInt8] = []
    private var taken = 0
    private(set) var hasEnded = false
    private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 64)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        linux_set_nonblocking(descriptor, 1)
    }

    deinit { space.deallocate() }

    func queue(_ line: [UInt8]) { outgoing += line }

    /// Sends what the socket accepts.
    func flush() {
        while sent < outgoing.count, !hasEnded {
            let count = outgoing.withUnsafeBytes {
                send(descriptor, $0.baseAddress! + sent, $0.count - sent, linux_no_signal)
            }
            if count < 0 {
                if errno == EINTR { continue }
                // Lines that the bus sent before it closed are still to be read.
                return
            }
            sent += count
        }
        outgoing.removeAll(keepingCapacity: true)
        sent = 0
    }

    /// Waits until one of them has something to read, or can send what waits; or for this long.
    static func wait(_ first: InnocentLink, _ second: InnocentLink, nanoseconds: UInt64) {
        func entry(_ link: InnocentLink) -> pollfd {
            let wanted = link.outgoing.isEmpty ? POLLIN : POLLIN | POLLOUT
            return pollfd(fd: link.descriptor, events: Int16(wanted), revents: 0)
        }
        var entries = [entry(first), entry(second)]
        _ = linux_poll(&entries, entries.count, Int64(nanoseconds))
    }

    /// Reads available bytes, and passes their whole lines.
    func takeLines(_ body: ([UInt8]) -> Void) {
        while !hasEnded {
            let count = recv(descriptor, space.baseAddress, space.count, 0)
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { hasEnded = true }
                break
            }
            if count == 0 { hasEnded = true }
            incoming.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count]))
            if count < space.count { break }
        }
        while let end = incoming[taken...].firstIndex(of: 0x0a) {
            body(Array(incoming[taken..<end]))
            taken = end + 1
        }
        incoming.removeFirst(taken)
        taken = 0
    }
}
