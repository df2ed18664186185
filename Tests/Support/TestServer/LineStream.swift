import CLinux
import Glibc

/// Lines in both directions over a connected socket, which it closes when it is let go.
final class LineStream {
    let descriptor: Int32
    private var received: [UInt8] = []
    private var isClosed = false

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func close() {
        if !isClosed { Glibc.close(descriptor) }
        isClosed = true
    }

    /// Everything that waits on it gives up after so many seconds without a byte.
    func limitWaiting(toSeconds seconds: Int) {
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    }

    /// Sends all of it; false when the connection is lost, and then `errno` says why.
    func send(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, linux_no_signal)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    func receive() -> Reception {
        while true {
            if let line = takeLine() { return .line(line) }
            if let reception = read(65_536) { return reception }
        }
    }

    /// Reads at most so many bytes into the buffer; what came instead of bytes, or nil.
    func read(_ most: Int, flags: Int32 = 0) -> Reception? {
        let count = withUnsafeTemporaryAllocation(byteCount: most, alignment: 1) { space in
            var count = recv(descriptor, space.baseAddress, most, flags)
            while count < 0, errno == EINTR { count = recv(descriptor, space.baseAddress, most, flags) }
            if count > 0 { received.append(contentsOf: space[..<count]) }
            return count
        }
        if count > 0 { return nil }
        if count == 0 { return .end }
        return errno == EAGAIN ? .nothing : .broken(errno)
    }

    /// A line that is there; nil if there is no whole one.
    func takeLine() -> String? {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { received.removeSubrange(...end) }
        return String(decoding: received[..<end], as: UTF8.self)
    }
}
