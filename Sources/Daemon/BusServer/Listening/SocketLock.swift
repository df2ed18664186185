import CLinux
import Glibc

/// The lock that a daemon holds while it looks for a live socket and replaces it: another daemon that starts at the
/// same path must not come between these two steps.
///
/// It locks a file of its own beside the socket, which only its owner can open. Not the directory, which every user can
/// lock who may read it, and so keep every daemon from starting. The file is removed with the lock.
final class SocketLock {
    /// Why the lock was not acquired.
    enum Failure: Error {
        case held
        case system(SystemError)
    }

    private let file: String
    private let descriptor: Int32

    /// Milliseconds. Binding takes microseconds; two seconds are a daemon that hangs.
    private static let patience = 2000

    /// - Parameter path: The path of the socket.
    init(beside path: String) throws(Failure) {
        file = path + ".lock"
        let end = MonotonicClock.read() + Self.patience
        while true {
            let descriptor = try Self.lock(file, until: end)
            // The previous holder has removed the file.
            if Self.isFile(file, descriptor) {
                self.descriptor = descriptor
                return
            }
            SystemCall.close(descriptor)
        }
    }

    /// The file is removed first: another daemon that has it open and gets the lock sees that it is gone.
    deinit {
        unlink(file)
        SystemCall.close(descriptor)
    }

    private static func lock(_ file: String, until end: Int) throws(Failure) -> Int32 {
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw .system(SystemError("open")) }
        if linux_try_lock(descriptor) == 0 { return descriptor }
        guard errno == EWOULDBLOCK || errno == EINTR else {
            let error = SystemError("flock")
            SystemCall.close(descriptor)
            throw .system(error)
        }
        let left = end - MonotonicClock.read()
        guard left > 0 else {
            SystemCall.close(descriptor)
            throw .held
        }
        guard LockAwaited(descriptor).isHeld(within: left) else { throw .held }
        return descriptor
    }

    private static func isFile(_ file: String, _ descriptor: Int32) -> Bool {
        var named = stat()
        var held = stat()
        return stat(file, &named) == 0 && fstat(descriptor, &held) == 0
            && named.st_dev == held.st_dev && named.st_ino == held.st_ino
    }
}
