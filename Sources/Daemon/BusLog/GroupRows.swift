/// The rows of groups, in order: those of the database, and behind them those that only a tail has.
final class GroupRows {
    private let statement: Statement
    private let tail: TailContents?
    /// The group of the tail on which it stands; nil: it stands in the database.
    private var group: Group?
    /// The number of the last row, or the one before that which is looked for.
    private var before = 0

    init(_ database: Database, _ tail: TailContents?) throws(LogFailure) {
        statement = try Statement(
            database,
            "SELECT number, first, last, time, start, digest, entries FROM groups WHERE number >= ?1 ORDER BY number"
        )
        self.tail = tail
    }

    /// Begins at the first row with this number or a later one.
    func seek(_ number: Int) {
        statement.bind(1, number)
        before = number - 1
    }

    /// Moves to the next row; false after the last. Until it is reset, this holds a read transaction.
    func next() throws(LogFailure) -> Bool {
        if group == nil, try statement.next() {
            before = statement.integer(0)
            return true
        }
        guard let tail, let numbers = tail.numbers else { return false }
        group = tail.group(max(before + 1, numbers.lowerBound))
        before = group?.number ?? before
        return group != nil
    }

    func reset() {
        statement.reset()
        group = nil
    }

    var number: Int { group?.number ?? statement.integer(0) }
    var first: Int { group?.first ?? statement.integer(1) }
    var last: Int { group?.last ?? statement.integer(2) }
    var time: Int { group?.time ?? statement.integer(3) }
    var start: Int { group?.start ?? statement.integer(4) }
    var digest: String { group?.digest.text ?? statement.text(5) }
    /// Valid until the next step or reset.
    var entries: UnsafeRawBufferPointer { group?.entries ?? statement.bytes(6) }
}
