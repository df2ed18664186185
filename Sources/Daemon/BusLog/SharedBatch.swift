/// Entries of the shared log that were written together. What they mean is not known here.
struct SharedBatch {
    /// Of the last entry.
    let place: Int
    /// The place that had been reached before it.
    let before: Int
    /// Valid only during the call that passes it.
    let entries: UnsafeRawBufferPointer

    /// Covers the place before as well, so that a missing row is noticed.
    var digest: LogDigest {
        var digest = LogDigest()
        digest.add(place)
        digest.add(before)
        digest.add(entries)
        return digest
    }

    static let insertion =
        "INSERT INTO shared_entries(place, before, digest, entries) VALUES(?1, ?2, ?3, ?4)"

    /// Writes it with a statement that `insertion` prepared.
    func insert(with statement: Statement) throws(LogFailure) {
        statement.bind(1, place)
        statement.bind(2, before)
        statement.bind(4, blob: entries)
        try statement.run(3, digest.text)
    }
}

/// What the log records about a replica beside its parts.
struct ReplicaInfo: Equatable {
    /// Up to where in the shared log it holds everything.
    let place: Int
    let parts: Int
    /// The size of all parts.
    let bytes: Int
    let digest: String

    /// The statement that makes its parts count, also where a damaged row of the same place can't be read.
    var insertion: String {
        "INSERT OR REPLACE INTO replica_ends(place, parts, bytes, digest) VALUES(\(place), \(parts), \(bytes), '\(digest)')"
    }

    static let partInsertion = "INSERT OR REPLACE INTO replicas(place, part, bytes) VALUES(?1, ?2, ?3)"
}

extension ReplicaInfo {
    /// What is recorded of all parts.
    init(_ place: Int, _ digest: PartsDigest) {
        self.init(place: place, parts: digest.parts, bytes: digest.bytes, digest: digest.text())
    }
}
