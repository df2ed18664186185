import CSQLite

/// Zeros behind the end of the write-ahead log, which small groups are then written over. A group that makes the file longer
/// has the file system write its new length with each sync; one that is written over bytes the file has already costs about
/// half the CPU, and less of the disk.
///
/// SQLite reads a write-ahead log up to the first frame that does not follow from the one before. Zeros never do.
struct WriteAheadRoom {
    /// Bytes added at once: so many that the new length costs little, so few that the sync that writes them takes no time that
    /// anybody notices.
    private static let step = 4 * piece
    /// Bytes of one call, which SQLite limits to less than 128 KiB.
    private static let piece = 64 << 10
    /// Bytes that one small group may take in it: its entries, the pages around them, and now and then one of a table's tree.
    private static let reserve = 24 << 10
    /// Bytes of the entries of a group that is small enough: of a large one, the zeros would cost more than the length does.
    static let mostEntries = 16 << 10
    private static let zeros = [UInt8](repeating: 0, count: piece)

    /// The file is at least so long.
    private var size = 0
    private var frames = 0

    /// Makes room for the next group, if there may be too little. Where that fails, the group itself makes the file longer.
    ///
    /// - Parameter frames: In the write-ahead log after the last transaction; fewer than before when it has begun again.
    mutating func make(behind frames: Int, in database: Database) {
        // A checkpoint may have cut it meanwhile.
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
