/// What a connection, or a user, has in the open batch of commits.
///
/// The batch that is written next holds up everybody whose commit is in it, so nobody may fill it alone: whoever has filled
/// its share waits for the next batch, and is not read meanwhile. Everybody else finds room.
struct BatchShare {
    /// The batch that the counts are of.
    private(set) var batch = 0
    private var bytes = 0
    private var commits = 0
    /// The batch in which it is filled; 0 for none.
    private(set) var filled = 0

    /// Adds to it, and notes whether it is filled: when it holds as much as `most`.
    mutating func add(
        _ added: (bytes: Int, commits: Int), to batch: Int, of most: (bytes: Int, commits: Int)
    ) {
        if self.batch != batch { (self.batch, bytes, commits) = (batch, 0, 0) }
        bytes += added.bytes
        commits += added.commits
        if bytes >= most.bytes || commits >= most.commits { filled = batch }
    }
}

/// How far the open batch had come.
struct BatchMark {
    let bytes: Int
    let commits: Int

    /// What was added between this one and a later one.
    func added(_ later: BatchMark) -> (bytes: Int, commits: Int) {
        // An entry with a count is measured when it is complete.
        (max(0, later.bytes - bytes), later.commits - commits)
    }
}
