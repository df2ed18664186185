/// Looking at eight bytes of a JSON string at a time.
@usableFromInline
enum ByteScan {
    /// Marks the high bit of each byte that cannot stand in a JSON string as it is: `"`, `\` and control
    /// characters. The lowest mark is exact; above it there can be false ones.
    @inlinable @inline(__always)
    static func specials(_ word: UInt64) -> UInt64 {
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5c)
        let control = (word &- ones &* 0x20) & ~word
        return (control | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & highBits
    }

    /// Marks the high bit of each byte that is no decimal digit. The lowest mark is exact; above it there can be false
    /// ones.
    @inlinable @inline(__always)
    static func nonDigits(_ word: UInt64) -> UInt64 {
        let digits = word ^ (ones &* 0x30)
        return (digits | (digits &+ ones &* 0x76)) & highBits
    }

    /// Which byte, counted from the lowest, the lowest mark stands for.
    @inlinable @inline(__always)
    static func firstMarked(_ marks: UInt64) -> Int { marks.trailingZeroBitCount >> 3 }

    /// The lowest `count` bytes of `word`, at most 7.
    @inlinable @inline(__always)
    static func keep(_ word: UInt64, _ count: Int) -> UInt64 {
        word & ((1 &<< UInt64(truncatingIfNeeded: count &<< 3)) &- 1)
    }

    /// How many bytes from the start of `source` can stand in a JSON string as they are.
    @inlinable
    static func plainCount(_ source: UnsafeRawBufferPointer) -> Int {
        guard let start = source.baseAddress else { return 0 }
        let count = source.count
        var index = 0
        // Long texts 32 bytes at a time, as the words do not wait for each other.
        while count &- index >= 32 {
            let place = start + index
            let first = specials(place.loadUnaligned(as: UInt64.self))
            let second = specials(place.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            let third = specials(place.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
            let fourth = specials(place.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
            if (first | second) | (third | fourth) != 0 { break }
            index &+= 32
        }
        while count &- index >= 8 {
            let marks = specials((start + index).loadUnaligned(as: UInt64.self))
            if marks != 0 { return index &+ firstMarked(marks) }
            index &+= 8
        }
        while index < count {
            let byte = start.load(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte == 0x22 || byte == 0x5c { return index }
            index &+= 1
        }
        return count
    }

    @inlinable @inline(__always) static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable @inline(__always) static var highBits: UInt64 { 0x8080_8080_8080_8080 }
}
