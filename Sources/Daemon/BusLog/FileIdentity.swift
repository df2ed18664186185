import Glibc

/// Identifies the file that has a name now: another may have replaced it.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t

    /// Nil when there is none.
    init?(of path: UnsafePointer<CChar>) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
    }
}
