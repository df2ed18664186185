import CSQLite
import Glibc

/// A log's write-ahead log by its name. SQLite holds the file open and never checks whether it still has its name, nor whether
/// what it wrote is still there; this must be checked with each group, or commits go where no start finds them. It costs two
/// system calls, about a microsecond.
struct WriteAheadLog {
    enum State {
        case whole
        /// Its name is gone, or another file's.
        case taken
        /// It is shorter than what is in it, or was, and has a hole where that was.
        case cut
    }

    private let path: [CChar]
    private let database: OpaquePointer
    private let identity: FileIdentity?

    /// The last bit of the number at its beginning tells the order of bytes in its checksums.
    private static let magic: UInt32 = 0x377f_0682

    /// - Parameter log: A path without symbolic links; the log is open, and outlives this.
    init(of log: String, _ database: Database) {
        path = Array("\(log)-wal".utf8CString)
        self.database = database.handle
        identity = FileIdentity(of: path)
    }

    func look() -> State {
        guard let (now, size) = FileIdentity.look(at: path), now == identity else { return .taken }
        return isWhole(size) ? .whole : .cut
    }

    private func isWhole(_ size: Int) -> Bool {
        let expected = self.expected
        if expected == 0 || size >= expected && hasHeader { return true }
        // Another program may have moved all of it into the file, and cut it then: after that nothing of it counts.
        guard let (_, size) = FileIdentity.look(at: path) else { return true }
        let now = self.expected
        return now == 0 || size >= now && hasHeader
    }

    /// How long it is at least; 0 if nothing in it counts.
    private var expected: Int {
        WriteAheadLog.used(in: database)
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Bytes of it that count, as all processes agree; 0 if none do.
    static func used(in database: OpaquePointer) -> Int {
        var (frames, page): (UInt32, UInt32) = (0, 0)
        guard sqlite_count_frames(database, &frames, &page) == SQLITE_OK, frames > 0 else { return 0 }
        return size(frames: Int(frames), page: Int(page))
    }

    /// The size in bytes of a write-ahead log with this many frames, header included.
    static func size(frames: Int, page: Int = 4096) -> Int { headerSize + frames * (frameHeaderSize + page) }

    /// Whether it begins as one does, and not with a hole.
    private var hasHeader: Bool {
        var number: UInt32 = 0
        return sqlite_read_wal(database, &number, 4) == SQLITE_OK
            && UInt32(bigEndian: number) & ~1 == Self.magic
    }

    /// Removes the file that has the name now.
    func remove() { unlink(path) }

    /// Nothing of it is moved into the file any more, on closing either.
    func leave() { _ = sqlite_leave_wal(database) }
}
