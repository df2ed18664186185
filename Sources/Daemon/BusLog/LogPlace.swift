import Glibc

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
                "\(path) was cut to \(status.st_size) bytes; put a copy there, or move it away.")
        }
        guard faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0 else {
            throw failure("can't be read and written; give it to user \(geteuid())", path, errno)
        }
    }

    /// Syncs the names of files in the directory to disk.
    static func syncDirectory(of path: String) throws(LogFailure) {
        let descriptor = open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("lies in a directory that can't be read", path, errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw failure("can't be made durable; look at its disk", path, errno)
        }
    }

    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    static func move(_ path: String, to target: String) throws(LogFailure) {
        if rename(path, target) != 0 {
            throw failure("can't be moved to \(target); give the directory to user \(geteuid())", path, errno)
        }
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
        return LogFailure(kind, path: path, "The log \(path) \(what) (\(String(cString: strerror(number)))).")
    }
}
