/// Which shapes are due for a bookmark at which revision: one slot per revision, so a commit looks at one.
struct BookmarkWheel {
    private static let size = 1024
    private var slots: [[Shape]] = Array(repeating: [], count: size)

    /// Looks at `shape` again when the revision reaches `due`, at most `Limits.bookmarkCommits` ahead.
    mutating func add(_ shape: Shape, due: Int) {
        slots[due % Self.size].append(shape)
    }

    /// Takes the shapes due at `revision`.
    mutating func take(at revision: Int) -> [Shape] {
        let slot = revision % Self.size
        if slots[slot].isEmpty { return [] }
        var due: [Shape] = []
        swap(&due, &slots[slot])
        return due
    }
}
