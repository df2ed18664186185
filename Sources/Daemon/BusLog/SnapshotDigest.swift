/// The digest of a snapshot, part by part.
struct SnapshotDigest {
    private var digest = LogDigest()
    private(set) var parts = 0
    private(set) var bytes = 0

    init(revision: Int) { digest.add(revision) }

    mutating func add(_ part: UnsafeRawBufferPointer) {
        digest.add(part)
        parts += 1
        bytes += part.count
    }

    /// Of all parts so far and of the numbers that stand beside them.
    func text(time: Int, start: Int) -> String {
        var whole = digest
        whole.add(time)
        whole.add(start)
        whole.add(parts)
        return whole.text
    }
}
