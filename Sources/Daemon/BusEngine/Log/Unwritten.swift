/// What a connection has that is not on disk yet.
struct Unwritten {
    /// Its output waits for the open batch of commits.
    private(set) var isHeld = false
    /// How much of its output waits for the batch that is being written, counted from its beginning.
    private(set) var sealed = 0
    /// What it has in the open batch.
    private(set) var share = BatchShare()
    /// Dispatches without an acknowledgement whose commits may not be on disk yet.
    private(set) var dispatches: [UnacknowledgedDispatch] = []
    /// How many of them there may be before the durable ones are removed.
    private var room = 64

    /// True if it was not held before.
    @inline(__always)
    mutating func hold() -> Bool {
        if isHeld { return false }
        isHeld = true
        return true
    }

    mutating func endHold() { isHeld = false }

    /// The open batch is written next.
    mutating func seal(at end: Int) { (isHeld, sealed) = (false, end) }

    @inline(__always)
    mutating func add(
        _ added: (bytes: Int, commits: Int), to batch: Int, of most: (bytes: Int, commits: Int)
    ) {
        share.add(added, to: batch, of: most)
    }

    mutating func add(_ dispatch: UnacknowledgedDispatch, durable revision: Int) {
        // Durable ones are removed each time the list has doubled, because a slow disk lets it grow long.
        if dispatches.count >= room {
            dispatches.removeAll { $0.revision <= revision }
            room = max(64, 2 * dispatches.count)
        }
        dispatches.append(dispatch)
    }

    mutating func forgetDispatches() { dispatches = [] }
}

/// A dispatch that is answered only if its commit can't be written.
struct UnacknowledgedDispatch {
    /// How much output its connection had had before it.
    let place: Int
    /// Its commit.
    let revision: Int
    /// The request's `id`, byte for byte.
    let id: [UInt8]
}
