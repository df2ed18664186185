#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The lines of a group's entries.
package enum LogLines {
    /// Hands on one line after the other, without newlines.
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
}
