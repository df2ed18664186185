/// Which shapes are due for a bookmark at which revision: one slot per revision, so a commit looks at one. A
/// shape knows its place, so that one whose last subscription ends leaves nothing behind.
struct BookmarkWheel {
    private static let size = 1024
    private var slots: [[Shape]] = Array(repeating: [], count: size)

    /// How many shapes wait here.
    var count: Int { slots.reduce(0) { $0 + $1.count } }

    /// Looks at `shape` again when the revision reaches `due`, at most `Limits.bookmarkCommits` ahead.
    mutating func add(_ shape: Shape, due: Int) {
        let slot = due % Self.size
        shape.wheelPlace = (slot, slots[slot].count)
        slots[slot].append(shape)
    }

    /// Forgets a shape.
    mutating func remove(_ shape: Shape) {
        guard let (slot, index) = shape.wheelPlace else { return }
        shape.wheelPlace = nil
        let last = slots[slot].removeLast()
        if last !== shape {
            slots[slot][index] = last
            last.wheelPlace = (slot, index)
        }
        if slots[slot].isEmpty { slots[slot] = [] }
    }

    /// Takes the shapes due at `revision`.
    mutating func take(at revision: Int) -> [Shape] {
        let slot = revision % Self.size
        if slots[slot].isEmpty { return [] }
        var due: [Shape] = []
        swap(&due, &slots[slot])
        for shape in due { shape.wheelPlace = nil }
        return due
    }
}
