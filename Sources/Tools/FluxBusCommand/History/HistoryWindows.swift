/// Windows over revisions, from the newest backwards, each twice as wide as the previous one; together they cover
/// every revision exactly once.
struct HistoryWindows {
    private var end: Int
    private var width: Int
    /// Nothing before it can be read.
    private(set) var floor = 0

    /// The first window has `width` revisions and ends with `last`.
    init(endingWith last: Int, width: Int) {
        end = last
        self.width = width
    }

    /// The window to read: the revisions after its lower bound, through its upper one. Nil when all have been read.
    var next: ClosedRange<Int>? {
        end > floor ? max(floor, end - width)...end : nil
    }

    /// The window has been read: the next one lies before it.
    mutating func turn() {
        end = max(floor, end - width)
        width *= 2
    }

    /// History begins only after `oldest`; false when that was known already, so that reading the same window
    /// again would end the same way.
    mutating func raise(to oldest: Int) -> Bool {
        guard let window = next, oldest > window.lowerBound else { return false }
        floor = oldest
        return true
    }
}
