import CSQLite

/// Zeros behind the end of the write-ahead log. Small groups overwrite them, so that the file keeps its length: when a sync has to
/// write a new length as well, it costs about twice the CPU, and more of the disk.
///
/// SQLite reads a write-ahead log up to the first frame that does not follow from the one before. Zeros never do.
struct WriteAheadRoom {
    /// Bytes added at once: enough that a new length is rare, few enough that their sync delays nobody noticeably.
    private static let step = 4 * piece
    /// Bytes written by one call. SQLite allows less than 128 KiB.
    private static let piece = 64 << 10
    /// Bytes that one small group may need: its entries, the rest of their pages, and sometimes an inner page of a table's tree.
    private static let reserve = 24 << 10
    /// The most bytes of entries for which there is room: above that, zeros would cost more than the new length.
    static let mostEntries = 16 << 10
    private static let zeros = [UInt8](repeating: 0, count: piece)

    /// The file has at least this many bytes.
    private var size = 0
    private var frames = 0

    /// Adds zeros if there may be too few for the next group. If that fails, the group itself makes the file longer.
    ///
    /// - Parameter frames: Frames in the write-ahead log after the last transaction; fewer than before if it was restarted.
    mutating func make(behind frames: Int, in database: Database) {
        // A checkpoint may have truncated it meanwhile.
        if frames < self.frames { size = 0 }
        self.frames = frames
        guard WriteAheadLog.size(frames: frames) + Self.reserve > size else { return }
        // Nobody else adds anything meanwhile.
        try? database.transaction { extend(database.handle) }
    }

    private mutating func extend(_ database: OpaquePointer) {
        var found: Int64 = 0
        let used = WriteAheadLog.used(in: database)
        guard used > 0, sqlite_size_wal(database, &found) == SQLITE_OK, found >= used else { return }
        size = Int(found)
        guard used + Self.reserve > size else { return }
        let end = size + Self.step
        while size < end {
            let code = Self.zeros.withUnsafeBytes {
                sqlite_extend_wal(database, $0.baseAddress, Int32($0.count), Int64(size))
            }
            guard code == SQLITE_OK else { return }
            size += Self.piece
        }
    }
}
