/// Commits that were written together.
package struct Group {
    /// Consecutive within a file.
    package let number: Int
    /// The revision of the first commit.
    package let first: Int
    /// The revision of the last commit; `first - 1` when there is none. Such a group comes after revision `last`.
    package let last: Int
    /// Milliseconds since 1970.
    package let time: Int
    /// Bytes of entries in all groups before it, including those trimmed.
    let start: Int
    /// One JSON object per line, without a newline at the end. Valid only during the call that passes it.
    package let entries: UnsafeRawBufferPointer

    /// Covers everything, so that a row in another's place is noticed as well as a flipped bit.
    var digest: LogDigest {
        var digest = LogDigest()
        digest.add(number)
        digest.add(first)
        digest.add(last)
        digest.add(time)
        digest.add(start)
        digest.add(entries)
        return digest
    }

    static let insertion =
        "INSERT INTO groups(number, first, last, time, start, digest, entries) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"

    /// Writes it with a statement that `insertion` prepared.
    func insert(with statement: Statement) throws(LogFailure) {
        statement.bind(1, number)
        statement.bind(2, first)
        statement.bind(3, last)
        statement.bind(4, time)
        statement.bind(5, start)
        statement.bind(7, text: entries)
        try statement.run(6, digest.text)
    }
}
