/// What the log tells of a snapshot without reading it.
package struct SnapshotInfo: Sendable, Equatable {
    /// Of the states in it.
    package let revision: Int
    /// Milliseconds since 1970.
    package let time: Int
    package let parts: Int
    /// Of all parts.
    package let bytes: Int
    /// Bytes of entries in all groups before it was begun.
    let start: Int
    let digest: String

    /// The statement that makes its parts count.
    var insertion: String {
        """
        INSERT INTO snapshots(revision, time, start, parts, bytes, digest) \
        VALUES(\(revision), \(time), \(start), \(parts), \(bytes), '\(digest)')
        """
    }
}
