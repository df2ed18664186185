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
    /// Bytes of entries in all groups before it, those taken away too.
    let start: Int
    /// One JSON object per line, without a newline at the end. Valid only during the call that gives it.
    package let entries: UnsafeRawBufferPointer

    /// Over everything, so that a row in another's place is noticed as well as a flipped bit.
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

    /// Whether it comes after the revision, at least in part.
    func comes(after revision: Int) -> Bool { last > revision || first > revision }
}
