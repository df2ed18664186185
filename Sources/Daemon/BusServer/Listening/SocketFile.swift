import Glibc

/// The file of a Unix socket, known by its inode: another daemon may have put its own in the same place.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file as it stands at `path` now; nil when there is none.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    func removeIfOurs() {
        guard let now = SocketFile(path: path), now.device == device, now.inode == inode else { return }
        unlink(path)
    }
}
