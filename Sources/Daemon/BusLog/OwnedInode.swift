import Glibc
import Synchronization

/// A lock on the log's own inode, which all its names share: a hard link, and a log whose lock file was
/// deleted, are still the same log.
///
/// It is a lock of `flock`, which does not interfere with SQLite's own. Those end when any descriptor of the file is
/// closed in this process, so this one is opened before SQLite opens the file and closed after SQLite has closed it;
/// and a second owner in this process, whose attempt would close one, is refused before it opens anything.
final class OwnedInode {
    private static let owned = Mutex<Set<FileIdentity>>([])

    let identity: FileIdentity
    private let descriptor: Int32

    /// - Throws: `inUse` if another daemon, or another part of this one, has it.
    init(of path: String) throws(LogFailure) {
        guard let identity = FileIdentity(of: path) else {
            throw LogPlace.failure("can't be opened; look at its directory", path, errno)
        }
        guard Self.owned.withLock({ $0.insert(identity).inserted }) else { throw Self.inUse(path) }
        do throws(LogFailure) {
            descriptor = try Self.lock(path)
        } catch {
            _ = Self.owned.withLock { $0.remove(identity) }
            throw error
        }
        self.identity = identity
    }

    deinit {
        LogLock.release(descriptor)
        _ = Self.owned.withLock { [identity] in $0.remove(identity) }
    }

    private static func lock(_ path: String) throws(LogFailure) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw LogPlace.failure("can't be read and written; give it to user \(geteuid())", path, errno)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            if number == EWOULDBLOCK { throw inUse(path) }
            throw LogPlace.failure("can't be locked; put it on a local disk", path, number)
        }
        return descriptor
    }

    private static func inUse(_ path: String) -> LogFailure {
        LogFailure(
            .inUse, path: path,
            "The log \(path) belongs to another daemon, which knows it by another name or whose lock file was deleted; "
                + "end that one, or name another file in log.path.")
    }
}
