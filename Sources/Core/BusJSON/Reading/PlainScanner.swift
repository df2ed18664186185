internal import CScan

/// Reads the parts that most texts consist of: short names, strings of plain ASCII, small numbers, and hardly any white space.
/// It finds quotes 64 bytes at a time, so that a short string takes a few instructions.
///
/// `JSONReader` reads everything else, and decides what is JSON. Each of the two continues where the other one stopped.
public struct PlainScanner {
    @usableFromInline var cursor: UnsafePointer<UInt8>
    @usableFromInline let end: UnsafePointer<UInt8>
    @usableFromInline let start: UnsafePointer<UInt8>
    /// Where the 64 bytes begin that are looked at.
    @usableFromInline var block: UnsafePointer<UInt8>
    /// Which of them are quotes, and which can't stand in a string of plain ASCII as they are; the first is the lowest bit.
    @usableFromInline var quotes: UInt64 = 0
    @usableFromInline var odd: UInt64 = .max

    /// Begins where a reader stands, whose text must outlive both.
    @inlinable @inline(__always)
    public init(at reader: JSONReader) {
        cursor = reader.cursor
        end = reader.end
        start = reader.start
        block = reader.end
    }

    /// Continues where a reader stopped.
    @inlinable @inline(__always)
    public mutating func go(to reader: JSONReader) { cursor = reader.cursor }

    /// Takes a name of one to seven bytes with its quotes and the colon right behind them. As some encoders write a space before
    /// or behind it, that is taken, too. Returns the bytes of the name, the first lowest. 0 if something else comes: then the
    /// scanner may stand anywhere. At least one byte has to follow.
    @inlinable @inline(__always)
    public mutating func takeName() -> UInt64 {
        guard end - cursor > 12 else { return 0 }
        if cursor.pointee == 0x20 { cursor += 1 }
        guard cursor.pointee == UInt8(ascii: "\""), let quote = closingQuote() else { return 0 }
        let length = quote - cursor &- 1
        guard UInt(bitPattern: length &- 1) < 7, quote[1] == UInt8(ascii: ":") else { return 0 }
        let word = UnsafeRawPointer(cursor + 1).loadUnaligned(as: UInt64.self)
        cursor = quote + 2
        if cursor.pointee == 0x20 { cursor += 1 }
        return word & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- length &<< 3))
    }

    /// Takes a string without escapes if one comes next; nil leaves the scanner as it was.
    @inlinable @inline(__always)
    public mutating func takeText() -> UnsafeRawBufferPointer? {
        guard cursor < end, cursor.pointee == UInt8(ascii: "\""), let quote = closingQuote() else {
            return nil
        }
        let text = UnsafeRawBufferPointer(start: cursor + 1, count: quote - cursor &- 1)
        cursor = quote + 1
        return text
    }

    /// Takes a whole number of at most seven digits, or a string without escapes. Returns its bytes, quotes included. Nil leaves
    /// the scanner as it was.
    @inlinable @inline(__always)
    public mutating func takeNumberOrText() -> UnsafeRawBufferPointer? {
        let first = cursor
        guard takeDigits() || takeText() != nil else { return nil }
        return UnsafeRawBufferPointer(start: first, count: cursor - first)
    }

    /// Takes `byte` if it comes next, without any white space before it.
    @inlinable @inline(__always)
    public mutating func take(_ byte: UInt8) -> Bool {
        guard cursor < end, cursor.pointee == byte else { return false }
        cursor += 1
        return true
    }

    /// Takes these bytes if they come next, as they are.
    @inlinable @inline(__always)
    public mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        guard end - cursor >= count, let wanted = bytes.baseAddress else { return false }
        let found = UnsafeRawPointer(cursor)
        var place = 0
        while place &+ 8 <= count {
            guard Self.word(found + place) == Self.word(wanted + place) else { return false }
            place &+= 8
        }
        if place < count {
            if count >= 8 {
                guard Self.word(found + (count &- 8)) == Self.word(wanted + (count &- 8)) else {
                    return false
                }
            } else {
                while place < count {
                    guard cursor[place] == bytes[place] else { return false }
                    place &+= 1
                }
            }
        }
        cursor += count
        return true
    }

    @inlinable @inline(__always)
    static func word(_ place: UnsafeRawPointer) -> UInt64 { place.loadUnaligned(as: UInt64.self) }

    /// Where the next byte stands.
    @inlinable @inline(__always)
    public var place: UnsafeRawPointer { UnsafeRawPointer(cursor) }

    /// Whether nothing is left.
    @inlinable @inline(__always)
    public var isAtEnd: Bool { cursor == end }

    /// Whether `byte` comes next, without any white space before it.
    @inlinable @inline(__always)
    public func isAt(_ byte: UInt8) -> Bool { cursor < end && cursor.pointee == byte }

    @inlinable @inline(__always)
    mutating func takeDigits() -> Bool {
        let count = JSONReader.digitCount(at: cursor, before: end)
        cursor += count
        return count > 0
    }

    /// The end of the string whose opening quote comes next. Nil if the string is long, has no end, or is not plain ASCII without
    /// escapes.
    @inlinable @inline(__always)
    mutating func closingQuote() -> UnsafePointer<UInt8>? {
        let first = cursor + 1
        let offset = UInt(bitPattern: first - block)
        if offset < 64 {
            let quotes = quotes &>> UInt64(offset)
            // All bits below the first quote are those of the string.
            if quotes != 0 {
                guard (odd &>> UInt64(offset)) & (quotes &- 1) & ~quotes == 0 else { return nil }
                return first + quotes.trailingZeroBitCount
            }
        }
        look(at: first)
        guard quotes != 0, odd & (quotes &- 1) & ~quotes == 0 else { return nil }
        return first + quotes.trailingZeroBitCount
    }

    @usableFromInline @inline(never)
    mutating func look(at block: UnsafePointer<UInt8>) {
        self.block = block
        let left = end - block
        if left <= 0 {
            (quotes, odd) = (0, .max)
            return
        }
        let marks =
            left >= 64 ? scan_64(block) : end - start >= 64 ? scan_last(end, left) : scan_fewer(block, left)
        (quotes, odd) = (marks.quotes, marks.odd)
    }
}

extension JSONReader {
    /// Continues where a scanner of the same text stopped.
    @inlinable @inline(__always)
    public mutating func go(to scanner: PlainScanner) { cursor = scanner.cursor }
}
