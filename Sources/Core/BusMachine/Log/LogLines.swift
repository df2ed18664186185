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
        var lines = Cursor(entries)
        while let line = lines.next() { try body(line) }
    }

    /// One line after the other, from any of them on.
    package struct Cursor {
        private let entries: UnsafeRawBufferPointer
        /// Where the next line begins.
        package var offset = 0

        package init(_ entries: UnsafeRawBufferPointer) { self.entries = entries }

        /// The next line, without its newline; nil behind the last one.
        @inline(__always)
        package mutating func next() -> UnsafeRawBufferPointer? {
            guard let base = entries.baseAddress, offset < entries.count else { return nil }
            let newline = memchr(base + offset, 10, entries.count - offset)
            let end = newline.map { UnsafeRawPointer($0) - base } ?? entries.count
            defer { offset = end + 1 }
            return UnsafeRawBufferPointer(rebasing: entries[offset..<end])
        }
    }

    /// The line that begins at an offset, without its newline.
    @inline(__always)
    package static func line(in entries: UnsafeRawBufferPointer, at start: Int) -> UnsafeRawBufferPointer {
        let newline = memchr(entries.baseAddress! + start, 10, entries.count - start)
        let end = newline.map { UnsafeRawPointer($0) - entries.baseAddress! } ?? entries.count
        return UnsafeRawBufferPointer(rebasing: entries[start..<end])
    }

    /// The revisions of an entry as it is written, found without parsing it; nil for a note.
    package static func revisions(of line: UnsafeRawBufferPointer) -> ClosedRange<Int>? {
        var rest = line[...]
        guard let first = number(after: "{\"revision\":", in: &rest) else { return nil }
        let times = number(after: ",\"times\":", in: &rest) ?? 1
        guard 1...highest ~= first, 1...highest ~= times else { return nil }
        return first...(first + times - 1)
    }

    /// The latest time of an entry, in seconds since 1970.
    private static let latestTime = 1e12

    /// When an entry was committed, in milliseconds since 1970; nil where it has no such time.
    package static func time(of entry: JSONObject) -> Int? {
        guard let seconds = entry["time"]?.double, 0...latestTime ~= seconds else { return nil }
        return Int((seconds * 1000).rounded())
    }

    /// The number behind these words, with which the rest begins; both are taken off it.
    private static func number(after words: StaticString, in rest: inout Slice<UnsafeRawBufferPointer>)
        -> Int?
    {
        let start = UnsafeBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount)
        guard rest.starts(with: start) else { return nil }
        var after = rest.dropFirst(start.count)
        // No number is longer.
        let digits = after.prefix(18).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty else { return nil }
        after = after.dropFirst(digits.count)
        rest = after
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
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
