/// A store that the commit being made writes to.
public struct StoreWrite {
    public let store: Int32
    /// The size of its state before.
    let size: Int32
    /// Its records in the undo log.
    var records: Range<Int>
    /// The index of the last of its further records, if a batch reached it again; else -1.
    var further: Int32 = -1
}

/// Records of a store that a batch reached again.
struct FurtherRecords {
    /// Its place in the write set.
    let write: Int32
    let records: Range<Int>
    /// The index of those before them; -1 when they are the first.
    let before: Int32
}
