import BusSystem
import CLinux
import Glibc
import Synchronization

/// The place of a log in the file system.
enum LogPlace {
    /// The path without symbolic links, so that all names of a log mean the same files beside it.
    static func resolved(_ path: String) -> String {
        if let whole = real(path) { return whole }
        guard let slash = path.lastIndex(of: "/") else { return real(".").map { "\($0)/\(path)" } ?? path }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        guard let directory = real(directory) else { return path }
        return (directory == "/" ? "" : directory) + path[slash...]
    }

    private static func real(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Throws unless there is a file.
    static func checkPresence(of path: String) throws(LogFailure) {
        if access(path, F_OK) == 0 { return }
        throw failure("can't be opened; check the path, or start the daemon, which makes it", path, errno)
    }

    /// Throws if something other than a file is there.
    static func checkKind(of path: String) throws(LogFailure) {
        var status = stat()
        guard lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw LogFailure(
                .notALog, path: path, "\(path) is not a regular file; name another one in log.path.")
        }
    }

    /// Creates an empty file for its owner only, durably; or checks that the existing one can be read and written.
    static func create(_ path: String) throws(LogFailure) {
        // The descriptor is closed before SQLite opens the file: closing one later would end SQLite's locks.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            try syncDirectory(of: path)
            return
        }
        guard errno == EEXIST else { throw failure("can't be created; make its directory", path, errno) }
        try checkKind(of: path)
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure("can't be opened", path, errno) }
        // SQLite takes anything shorter than its smallest page for a new file.
        if status.st_size > 0 && status.st_size < 512 || status.st_size == 0 && exists(path + "-wal") {
            throw LogFailure(
                .damaged, path: path,
                "\(path) was cut to \(status.st_size) bytes; restore a backup with fluxbusd --restore, or move the log and the files beside it away."
            )
        }
        guard faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0 else {
            throw failure("can't be read and written; give it to user \(geteuid())", path, errno)
        }
    }

    /// Syncs the names of files in the directory to disk.
    static func syncDirectory(of path: String) throws(LogFailure) {
        do throws(SystemError) {
            try FileNames.sync(path)
        } catch {
            let what =
                error.call == "open"
                ? "lies in a directory that can't be read" : "can't be made durable; look at its disk"
            throw failure(what, path, error.code)
        }
    }

    static func move(_ path: String, to target: String) throws(LogFailure) {
        if rename(path, target) != 0 {
            throw failure("can't be moved to \(target); give the directory to user \(geteuid())", path, errno)
        }
    }

    /// When a file was last changed, in nanoseconds since 1970; nil if there is none.
    static func changeTime(of path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Int(status.st_mtim.tv_sec) * 1_000_000_000 + Int(status.st_mtim.tv_nsec)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func failure(_ what: String, _ path: String, _ number: Int32) -> LogFailure {
        let kind: LogFailure.Kind =
            switch number {
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            case ENOENT, ENOTDIR: .notALog
            default: .io
            }
        return LogFailure(kind, path: path, "The log \(path) \(what) (\(systemReason(number))).")
    }
}

/// Checks a log's place without touching it.
extension LogPlace {
    /// Throws what would keep a daemon from starting with a log at this path, as far as that
    /// can be checked from outside.
    static func check(_ path: String) throws(LogFailure) {
        let place = resolved(path)
        try checkKind(of: place)
        let directory = FileNames.directory(of: place)
        guard access(directory, F_OK) == 0 else { throw LogLock.unwritable("\(place)-lock", place, errno) }
        // The lock file is the first thing that a start opens.
        let lock = exists("\(place)-lock") ? "\(place)-lock" : directory
        guard faccessat(AT_FDCWD, lock, W_OK, AT_EACCESS) == 0 else {
            throw LogLock.unwritable("\(place)-lock", place, errno)
        }
        var status = stat()
        guard lstat(place, &status) == 0 else { return }
        guard faccessat(AT_FDCWD, place, R_OK | W_OK, AT_EACCESS) == 0 else {
            throw failure("can't be read and written; give it to user \(geteuid())", place, errno)
        }
        if status.st_size == 0 { return }
        // Without a write-ahead log nothing has to be created to read it.
        let isAlone = WALScan(place + "-wal").isEmpty
        let database = try Database(path: place, isAlone ? .readingAlone : .reading)
        if try !Schema.isAbsent(in: database) { try Schema.check(database) }
    }
}

extension LogFile {
    /// Throws what would keep `init` from opening a log at this path, as far as that can be
    /// checked without touching it.
    package static func check(_ path: String) throws(LogFailure) { try LogPlace.check(path) }
}

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

    /// In one step: once the descriptor of a deleted file is closed, its inode may be that of a new log.
    deinit {
        Self.owned.withLock { [identity, descriptor] owned in
            LogLock.release(descriptor)
            owned.remove(identity)
        }
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
