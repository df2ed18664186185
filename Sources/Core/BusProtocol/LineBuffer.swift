#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Cuts a stream of bytes into lines, in place where a read brought whole ones.
///
/// Holds at most one unfinished line, or the lines behind one after which `take` returned false. A line over the length
/// or depth limit is reported as soon as it passes it, and skipped up to its end.
package struct LineBuffer {
    package enum Piece {
        /// A line without its end, never empty.
        case line(UnsafeRawBufferPointer)
        case tooLong
        case tooDeep
    }

    private var held: [UInt8] = []
    /// How many of the held bytes are consumed: taking lines one at a time must not move the rest each time.
    private var done = 0
    /// How many of the held bytes are known to hold no line end.
    private var scanned = 0
    /// How many bytes wait here. A stored property, because a call that works it out would copy
    /// the buffer, references and all.
    package private(set) var heldBytes = 0

    private var longest: Int32 = 0
    private var deepest: Int32 = 0
    private var depth = DepthScanner()
    /// The rest of the current line is being skipped.
    private var skipping = false

    package init(longest: Int, deepest: Int) { limit(longest: longest, deepest: deepest) }

    /// Sets other limits, which apply to the lines from here on and the rest of the present one.
    package mutating func limit(longest: Int, deepest: Int) {
        self.longest = Int32(clamping: longest)
        self.deepest = Int32(clamping: deepest)
    }

    private mutating func noteHeld() { heldBytes = held.count - done }

    /// Adds new bytes and passes on complete lines, until `take` returns false; then the rest is kept.
    package mutating func feed(_ bytes: UnsafeRawBufferPointer, _ take: (Piece) -> Bool) {
        if held.isEmpty {
            let used = cut(bytes, take)
            held.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[used...]))
            noteHeld()
        } else {
            held.append(contentsOf: bytes)
            resume(take)
        }
    }

    /// Keeps new bytes for later, behind what is kept already.
    package mutating func hold(_ bytes: UnsafeRawBufferPointer) {
        held.append(contentsOf: bytes)
        noteHeld()
    }

    /// Continues with what was kept.
    package mutating func resume(_ take: (Piece) -> Bool) {
        var bytes: [UInt8] = []
        swap(&bytes, &held)
        defer { noteHeld() }
        let start = done
        done += bytes.withUnsafeBytes { cut(UnsafeRawBufferPointer(rebasing: $0[start...]), take) }
        if done == bytes.count {
            done = 0
            return
        }
        if done * 2 > bytes.count {
            bytes.removeFirst(done)
            done = 0
        }
        swap(&bytes, &held)
    }

    /// The held bytes, and whether they continue a line that is being skipped; for a hand-over.
    package var rest: (bytes: ArraySlice<UInt8>, isSkipping: Bool) { (held[done...], skipping) }

    /// Continues where another buffer stopped.
    package mutating func takeOver(_ bytes: UnsafeRawBufferPointer, isSkipping: Bool) {
        held = Array(bytes)
        (done, scanned, skipping, depth) = (0, 0, isSkipping, DepthScanner())
        noteHeld()
    }

    /// Discards the held bytes.
    package mutating func clear() {
        held = []
        done = 0
        scanned = 0
        heldBytes = 0
    }

    /// Passes on the complete lines of `bytes` and returns how many bytes are consumed.
    private mutating func cut(_ bytes: UnsafeRawBufferPointer, _ take: (Piece) -> Bool) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var start = 0
        while let end = memchr(base + start + scanned, 10, bytes.count - start - scanned) {
            let length = UnsafeRawPointer(end) - base - start
            scanned = 0
            depth = DepthScanner()
            let line = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
            start += length + 1
            guard !skipping else {
                skipping = false
                continue
            }
            guard let piece = piece(line) else { continue }
            if !take(piece) { return start }
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        guard !skipping else { return bytes.count }
        if rest.count > Int(longest) + 1 {
            skip(.tooLong, take)
            return bytes.count
        }
        if depth.passes(deepest, in: UnsafeRawBufferPointer(rebasing: rest[scanned...])) {
            skip(.tooDeep, take)
            return bytes.count
        }
        scanned = rest.count
        return start
    }

    private func piece(_ line: UnsafeRawBufferPointer) -> Piece? {
        var line = line
        if line.last == 13 { line = UnsafeRawBufferPointer(rebasing: line.dropLast()) }
        if line.isEmpty { return nil }
        return line.count > Int(longest) ? .tooLong : .line(line)
    }

    private mutating func skip(_ reason: Piece, _ take: (Piece) -> Bool) {
        skipping = true
        scanned = 0
        depth = DepthScanner()
        _ = take(reason)
    }
}
