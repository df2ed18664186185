internal import CScan

/// Where quotes stand in a text, found 64 bytes at a time, so that the end of a short string takes a few instructions.
public struct QuoteMap {
    @usableFromInline let start: UnsafePointer<UInt8>
    @usableFromInline let count: Int
    /// The 64 bytes that are looked at begin here; negative: none are.
    @usableFromInline var block = -64
    /// Which of them are quotes, and which can't stand in a string of plain ASCII as they are; the first is the lowest bit.
    @usableFromInline var quotes: UInt64 = 0
    @usableFromInline var odd: UInt64 = .max

    /// A map of the text that a reader reads, which must outlive it.
    @inlinable @inline(__always)
    public init(of reader: JSONReader) {
        start = reader.start
        count = reader.end - reader.start
    }

    /// Where a string ends whose opening quote stands at an offset: at its closing quote. Nil for one that is not plain ASCII
    /// without escapes, and at the end of the text.
    @inlinable @inline(__always)
    public mutating func end(ofStringAt offset: Int) -> Int? {
        let first = offset &+ 1
        if first & ~63 != block { look(at: first & ~63) }
        let shift = UInt64(truncatingIfNeeded: first & 63)
        let quotes = quotes &>> shift
        guard quotes != 0 else { return farEnd(from: first) }
        // All bits below the quote.
        guard (odd &>> shift) & (quotes &- 1) & ~quotes == 0 else { return nil }
        return first &+ quotes.trailingZeroBitCount
    }

    @usableFromInline @inline(never)
    mutating func look(at block: Int) {
        self.block = block
        guard block < count else {
            (quotes, odd) = (0, .max)
            return
        }
        let marks =
            count &- block >= 64 ? scan_64(start + block) : scan_fewer(start + block, UInt(count &- block))
        (quotes, odd) = (marks.quotes, marks.odd)
    }

    /// The same for a string that does not end in the block in which it begins.
    @usableFromInline @inline(never)
    mutating func farEnd(from first: Int) -> Int? {
        guard odd &>> UInt64(first & 63) == 0 else { return nil }
        while true {
            look(at: block &+ 64)
            if quotes == 0 {
                guard odd == 0 else { return nil }
                continue
            }
            guard odd & (quotes &- 1) & ~quotes == 0 else { return nil }
            return block &+ quotes.trailingZeroBitCount
        }
    }
}
