import CLinux
import Glibc

/// Identifies the file that has a name now: another may have replaced it.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil when there is none.
    init?(of path: UnsafePointer<CChar>) {
        var (device, inode): (UInt64, UInt64) = (0, 0)
        guard linux_identify_file(path, &device, &inode) == 0 else { return nil }
        (self.device, self.inode) = (device, inode)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
