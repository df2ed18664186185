/// What a connection has that is not on disk yet.
struct Unwritten {
    /// Its output waits for the open batch of commits.
    private(set) var isHeld = false
    /// How much of its output waits for the batch that is being written, counted from its beginning.
    private(set) var sealed = 0
    /// Nil before its first commit: those that only watch make none.
    private var author: Author?

    private final class Author {
        @exclusivity(unchecked) var share = BatchShare()
        @exclusivity(unchecked) var dispatches: [UnacknowledgedDispatch] = []
        /// How many of them there may be before the durable ones are removed.
        @exclusivity(unchecked) var room = 64
    }

    /// The open batch in which it has filled its share; 0 for none.
    var filled: Int { author?.share.filled ?? 0 }
    /// Dispatches without an acknowledgement whose commits may not be on disk yet.
    var dispatches: [UnacknowledgedDispatch] { author?.dispatches ?? [] }

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
        begin().share.add(added, to: batch, of: most)
    }

    @inline(__always)
    private mutating func begin() -> Author {
        if let author { return author }
        let author = Author()
        self.author = author
        return author
    }

    mutating func add(_ dispatch: UnacknowledgedDispatch, durable revision: Int) {
        let author = begin()
        // Durable ones are removed each time the list has doubled, because a slow disk lets it grow long.
        if author.dispatches.count >= author.room {
            author.dispatches.removeAll { $0.revision <= revision }
            author.room = max(64, 2 * author.dispatches.count)
        }
        author.dispatches.append(dispatch)
    }

    mutating func forgetDispatches() { author?.dispatches = [] }
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
