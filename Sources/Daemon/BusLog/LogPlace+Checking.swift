import Glibc

/// Checks a log's place without touching it.
extension LogPlace {
    /// Throws what would keep a daemon from starting with a log at this path, as far as that
    /// can be checked from outside.
    static func check(_ path: String) throws(LogFailure) {
        let place = resolved(path)
        try checkKind(of: place)
        let directory = directory(of: place)
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
