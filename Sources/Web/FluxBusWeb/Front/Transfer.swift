import CLinux
import Glibc

/// The outcome of moving bytes at a socket that never blocks.
enum Transfer: Equatable {
    case bytes(Int)
    /// Not now.
    case blocked
    /// The other side sends nothing more.
    case end
    case failed

    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, linux_no_signal)
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }

    static func receive(_ descriptor: Int32, _ space: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, space.baseAddress, space.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }
}
