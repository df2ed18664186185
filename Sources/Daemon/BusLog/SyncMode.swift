/// When what was appended is on disk. In each mode a crash of the daemon loses nothing: all is with the kernel.
package enum SyncMode: String, Sendable {
    /// When `append` returns.
    case always
    /// When `sync()` returns. A crash of the machine loses what came after it.
    case interval
    /// When the kernel wants. A crash of the machine loses what it had not written yet, never the file's consistency.
    case never
}
