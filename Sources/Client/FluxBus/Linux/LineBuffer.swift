#if canImport(Glibc)
    import Glibc

    /// Bytes that have arrived and are not yet taken as lines.
    ///
    /// A line ends at `\n`; a `\r` before it is dropped; empty lines are skipped. Each byte is searched once,
    /// however small the pieces in which a long line arrives.
    package struct LineBuffer {
        package init() {}

        private var bytes: [UInt8] = []
        /// The start of the first untaken line.
        private var start = 0
        /// The end of the bytes searched for `\n` without a match.
        private var searched = 0

        package var count: Int { bytes.count - start }

        package mutating func append(_ piece: UnsafeRawBufferPointer) {
            // Taken lines are cut off only when they are most of the storage, so each byte moves at most once.
            if start > 65536, start > bytes.count / 2 {
                bytes.removeSubrange(..<start)
                searched -= start
                start = 0
            }
            bytes.append(contentsOf: piece)
        }

        /// True when a whole line, or an empty one, can be taken.
        package var hasLine: Bool { bytes[searched...].contains(UInt8(ascii: "\n")) }

        /// The next whole line without its end; nil when none is complete.
        package mutating func next() -> [UInt8]? {
            var taken: [UInt8]?
            return takeNext { taken = Array($0) } ? taken : nil
        }

        /// Passes all bytes, whole lines or not.
        package mutating func takeAll(_ body: (UnsafeRawBufferPointer) -> Void) {
            bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            self = LineBuffer()
        }

        /// Passes the next whole line without its end, which must not be kept; false when none is complete.
        mutating func takeNext(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
            while let end = nextNewline() {
                var last = end
                if last > start, bytes[last - 1] == UInt8(ascii: "\r") { last -= 1 }
                let line = start..<last
                start = end + 1
                searched = start
                if !line.isEmpty {
                    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[line])) }
                    forgetIfEmpty()
                    return true
                }
            }
            forgetIfEmpty()
            return false
        }

        private mutating func nextNewline() -> Int? {
            let found = Self.newline(in: bytes, from: searched)
            if found == nil { searched = bytes.count }
            return found
        }

        /// The first `\n` at `place` or behind it; nil when there is none.
        package static func newline(in bytes: [UInt8], from place: Int) -> Int? {
            bytes.withUnsafeBytes { buffer in
                guard let base = buffer.baseAddress, place < buffer.count,
                    let hit = memchr(base + place, 0x0a, buffer.count - place)
                else { return nil }
                return UnsafeRawPointer(hit) - base
            }
        }

        private mutating func forgetIfEmpty() {
            guard start == bytes.count else { return }
            bytes.removeAll(keepingCapacity: true)
            start = 0
            searched = 0
        }
    }
#endif
