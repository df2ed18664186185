import CLinux
import Glibc

/// Identifies the file that has a name now: another may have replaced it.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil when there is none.
    init?(of path: UnsafePointer<CChar>) {
        guard let (identity, _) = Self.look(at: path) else { return nil }
        self = identity
    }

    private init(_ device: UInt64, _ inode: UInt64) { (self.device, self.inode) = (device, inode) }

    /// Which file has the name, and how long it is.
    static func look(at path: UnsafePointer<CChar>) -> (FileIdentity, size: Int)? {
        var (device, inode, size): (UInt64, UInt64, UInt64) = (0, 0, 0)
        guard linux_identify_file(path, &device, &inode, &size) == 0 else { return nil }
        return (FileIdentity(device, inode), Int(clamping: size))
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
