import Glibc

/// Sees to it that one daemon owns a log: a lock on a file of its own beside it, `….sqlite-lock`, that holds the owner's
/// process number.
///
/// Not on the log itself: SQLite's locks there belong to the process, and end when any descriptor of the file is closed.
/// The lock ends with the process, however that ends, and is not inherited by programs that it starts. The file stays:
/// who removed it could remove one that another daemon has just locked.
final class LogLock {
    private let descriptor: Int32

    /// - Parameter path: Of the log, without symbolic links, so that all who mean it lock the same file.
    /// - Throws: `inUse`, naming the process that has the lock.
    init(beside path: String) throws(LogFailure) {
        let file = path + "-lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let number = errno
            if number == ENOENT || number == ENOTDIR {
                throw LogPlace.failure(
                    "has no place; make the directory for it, or name another file in log.path", path, number)
            }
            let kind: LogFailure.Kind =
                switch number {
                case EACCES, EPERM, EROFS: .readOnly
                case ENOSPC, EDQUOT: .full
                default: .io
                }
            throw LogFailure(
                kind, path: path,
                "\(file) can't be written (\(String(cString: strerror(number)))); give the directory to user "
                    + "\(geteuid()), as whom the daemon runs, and see that its disk has room.")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            let owner = Self.owner(descriptor)
            close(descriptor)
            guard number == EWOULDBLOCK else {
                throw LogFailure(
                    .io, path: path,
                    "\(file) can't be locked (\(String(cString: strerror(number)))); put the log on a local disk."
                )
            }
            throw LogFailure(
                .inUse, path: path,
                "The log \(path) belongs to \(owner.map { "process \($0)" } ?? "another daemon"); end that one, or name "
                    + "another file in log.path.")
        }
        self.descriptor = descriptor
        Self.write(getpid(), to: descriptor)
    }

    deinit { close(descriptor) }

    private static func write(_ process: Int32, to descriptor: Int32) {
        // Only for the message of a daemon that comes second; without it the lock holds too.
        guard ftruncate(descriptor, 0) == 0 else { return }
        var text = "\(process)\n"
        _ = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    private static func owner(_ descriptor: Int32) -> Int32? {
        var digits = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &digits, digits.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: digits[..<count].prefix { $0 != 10 }, as: UTF8.self))
    }
}
