import Glibc

/// Whether this process's messages go to the journal anyway, so that it may write there natively.
extension Journal {
    /// True if `JOURNAL_STREAM` names what standard error is connected to. Somebody who redirected it to a file or a
    /// terminal wants the messages there, although the variable is still set.
    public static func isStandardError(
        _ environment: ServiceEnvironment, descriptor: Int32 = STDERR_FILENO
    ) -> Bool {
        guard let text = environment.variables["JOURNAL_STREAM"] else { return false }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else {
            return false
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}
