import Glibc

/// The name of a log's write-ahead log. SQLite holds the file open and never looks whether it still has its name; after
/// each group somebody must, or commits go where no start finds them. It costs a call of `stat`, 0.6 µs.
struct WriteAheadName {
    private let path: [CChar]
    private let identity: FileIdentity?

    /// - Parameter log: Without symbolic links, and open.
    init(of log: String) {
        path = Array("\(log)-wal".utf8CString)
        identity = FileIdentity(of: path)
    }

    /// Whether it is still the file that it was.
    var isSame: Bool { identity != nil && FileIdentity(of: path) == identity }

    /// Takes away what has its name now.
    func remove() { unlink(path) }
}
