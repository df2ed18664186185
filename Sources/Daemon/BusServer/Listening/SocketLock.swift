import BusSystem
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
        let end = MonotonicClock.milliseconds + Self.patience
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
        let left = end - MonotonicClock.milliseconds
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

/// The file of a Unix socket, held by a descriptor: its group and its mode change, and not those of what somebody who may write
/// into the directory has put in its place meanwhile, nor of what a symbolic link there leads to.
package final class HeldSocketFile {
    private let descriptor: Int32
    private let status: stat

    /// Holds what has the name now; fails with `ENOTSOCK` where that is no socket of this user's.
    package init(_ path: String) throws(SystemError) {
        descriptor = linux_hold_path(path)
        guard descriptor >= 0 else { throw SystemError("open") }
        var status = stat()
        let result = fstat(descriptor, &status)
        self.status = status
        guard result == 0 else { throw SystemError("fstat") }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw SystemError("stat", code: ENOTSOCK)
        }
    }

    deinit { SystemCall.close(descriptor) }

    package func change(group: gid_t) throws(SystemError) {
        guard linux_change_held_group(descriptor, group) == 0 else { throw SystemError("chown") }
    }

    package func change(mode: UInt32) throws(SystemError) {
        guard linux_change_held_mode(descriptor, mode_t(mode)) == 0 else { throw SystemError("chmod") }
    }

    /// The file by its name, to be removed as long as it is this one.
    func file(at path: String) -> SocketFile { SocketFile(path: path, status) }
}

/// A file lock held elsewhere, awaited with a timeout: the system has no such call, so a thread waits for the lock
/// without end, and the caller waits for the thread.
///
/// `@unchecked Sendable`: everything mutable is accessed under `lock`.
final class LockAwaited: @unchecked Sendable {
    private let descriptor: Int32
    private let lock = ThreadLock()
    private var isHeld = false
    private var hasFailed = false
    private var isGivenUp = false

    /// Owns the descriptor until `isHeld` has returned true.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        SystemThread.startNecessary(named: "fluxbus-lock") { [self] in waitForIt() }
    }

    private func waitForIt() {
        var result = flock(descriptor, LOCK_EX)
        while result != 0, errno == EINTR { result = flock(descriptor, LOCK_EX) }
        lock.locked {
            isHeld = result == 0
            hasFailed = result != 0
            // The caller has given up.
            if isGivenUp { SystemCall.close(descriptor) }
            lock.signal()
        }
    }

    /// Whether the lock came in time. If not, the descriptor is closed as soon as it can be.
    func isHeld(within milliseconds: Int) -> Bool {
        let end = MonotonicClock.milliseconds + milliseconds
        var result = false
        lock.locked {
            while !isHeld, !hasFailed, MonotonicClock.milliseconds < end {
                lock.wait(milliseconds: max(1, end - MonotonicClock.milliseconds))
            }
            result = isHeld
            if hasFailed { SystemCall.close(descriptor) }
            isGivenUp = !result && !hasFailed
        }
        return result
    }
}
