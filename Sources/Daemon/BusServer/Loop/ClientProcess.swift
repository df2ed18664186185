import CLinux
import Glibc

/// The process at the other end of a local connection that has ended: what it left on the bus need not wait for it once it is
/// gone. Linux tells of it since 6.5; before that, sessions wait as long as they say.
enum ClientProcess: ~Copyable {
    case running(Descriptor)
    case gone

    /// Owned, and readable when the process has ended.
    struct Descriptor: ~Copyable {
        let number: Int32

        deinit { SystemCall.close(number) }
    }

    /// Nil where that can't be known.
    init?(at socket: Int32) {
        let number = linux_peer_process(socket)
        switch number {
        case 0...: self = .running(Descriptor(number: number))
        case -ESRCH, -EINVAL: self = .gone
        default: return nil
        }
    }
}
