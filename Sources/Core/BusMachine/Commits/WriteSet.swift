/// A store that the current commit writes to.
public struct StoreWrite {
    public let store: Int32
    /// The size of its state before the commit.
    let size: Int32
    /// Its records in the undo log.
    var records: Range<Int>
    /// The index of its last ``FurtherRecords``; -1 if no step of a batch has written to it again.
    var further: Int32 = -1
}

/// The records of a store that a step of a batch has written to again.
struct FurtherRecords {
    /// The index of the store in the write set.
    let write: Int32
    let records: Range<Int>
    /// The index of the store's previous further records; -1 if these are the first.
    let before: Int32
}
