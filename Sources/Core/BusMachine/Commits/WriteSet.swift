/// A store as the commit being made writes it.
public struct StoreWrite {
    public let store: Int32
    /// What the store's size was before.
    let size: Int32
    /// Its records in the undo log.
    var records: Range<Int>
    /// Where the last of its further records stand, if a batch reached it again; else -1.
    var further: Int32 = -1
}

/// Records of a store that a batch reached again.
struct FurtherRecords {
    /// Its place in the write set.
    let write: Int32
    let records: Range<Int>
    /// Where those before them stand; -1 when they are the first.
    let before: Int32
}
