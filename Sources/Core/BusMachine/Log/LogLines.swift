import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The lines of a batch's entries.
package enum LogLines {
    /// Visits one line after the other, without newlines.
    @inline(__always)
    package static func forEach<Failure: Error>(
        in entries: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard let base = entries.baseAddress else { return }
        var start = 0
        while start < entries.count {
            let newline = memchr(base + start, 10, entries.count - start)
            let end = newline.map { UnsafeRawPointer($0) - base } ?? entries.count
            try body(UnsafeRawBufferPointer(rebasing: entries[start..<end]))
            start = end + 1
        }
    }

    /// The first and the last revision of an entry; nil for a note.
    package static func revisions(of entry: JSONObject) -> (first: Int, last: Int)? {
        guard let first = entry["revision"]?.int, case let times = entry["times"]?.int ?? 1,
            1...highest ~= first, 1...highest ~= times
        else { return nil }
        return (first, first + times - 1)
    }

    /// No bus gets this far, and sums of two such numbers don't overflow.
    static let highest = 1 << 53
}
