/// Reads a member's copy of the shared log. Of a log that is none there is nothing to read.
extension LogReader {
    /// The places of the replicas, newest first.
    package func replicas() throws(LogFailure) -> [Int] {
        try contents.sharedCopy()?.replicas().map(\.place) ?? []
    }

    /// Calls `body` with each part of a replica, in order, then compares the digest: what was given is valid only if this
    /// returns.
    ///
    /// - Parameter body: Receives bytes that are valid during the call. It must be quick: until it returns, the
    ///   write-ahead log can't be used again.
    /// - Throws: `damaged` if it is not what was written; `lost` if there is none of this place.
    package func forEachReplicaPart(
        of place: Int, _ body: (UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        guard let shared = try contents.sharedCopy(),
            let replica = try shared.replicas().first(where: { $0.place == place })
        else { throw SharedCopyContents.gone(place, from: path) }
        try shared.forEachPart(of: replica, body)
    }

    /// Calls `body` with each batch that may hold entries behind one place and up to another, in order: the first may begin
    /// at or before the one, and the last may end behind the other. Batches written meanwhile are included.
    ///
    /// - Parameter body: Receives the place of the batch's last entry, and the batch, which is valid during the call. It
    ///   may take its time.
    /// - Throws: `damaged` at the first batch that is not whole; `lost` if batches behind the first place were removed.
    package func forEachSharedBatch(
        behind place: Int, through last: Int,
        _ body: (Int, UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) {
        try contents.sharedCopy()?.forEachBatch(behind: place, through: last) { batch throws(LogFailure) in
            try body(batch.place, batch.entries)
        }
    }
}
