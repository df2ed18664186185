import CLinux
import Glibc

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
