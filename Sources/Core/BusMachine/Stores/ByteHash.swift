/// Looks at bytes eight at a time, and hashes them by multiplication.
enum ByteHash {
    /// Multiplies two words and folds the product, so that every bit of the value reaches every bit of the result.
    @inline(__always)
    static func mix(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    /// A hash of bytes that no client can choose to collide, or where that does no harm: it has no seed.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        let factor: UInt64 = 0x9e37_79b9_7f4a_7c15
        var state = UInt64(truncatingIfNeeded: bytes.count)
        var place = 0
        while place &+ 8 <= bytes.count {
            state = mix(state ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), factor)
            place &+= 8
        }
        return Int(truncatingIfNeeded: mix(state ^ tail(of: bytes, from: place), factor))
    }

    /// The bytes from `place` on, of which there are at most seven, as a word: the first lowest, zeros behind the last.
    @inline(__always)
    static func tail(of bytes: UnsafeRawBufferPointer, from place: Int) -> UInt64 {
        let left = bytes.count &- place
        if left == 0 { return 0 }
        if bytes.count >= 8 {
            // What the last eight bytes share with the word before is shifted out.
            let last = bytes.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self)
            return last &>> UInt64(truncatingIfNeeded: (8 &- left) &<< 3)
        }
        if left >= 4 {
            let low = UInt64(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
            let high = UInt64(bytes.loadUnaligned(fromByteOffset: bytes.count &- 4, as: UInt32.self))
            return low | high &<< UInt64(truncatingIfNeeded: (left &- 4) &<< 3)
        }
        // One to three bytes: the first, the middle and the last cover them.
        let middle = left &>> 1
        return UInt64(bytes[place]) | UInt64(bytes[place &+ middle])
            &<< UInt64(truncatingIfNeeded: middle &<< 3)
            | UInt64(bytes[bytes.count &- 1]) &<< UInt64(truncatingIfNeeded: (left &- 1) &<< 3)
    }

    /// How many bytes stand before the first of a kind; all, if there is none.
    @inline(__always)
    static func count(of bytes: UnsafeRawBufferPointer, before byte: UInt8) -> Int {
        let (ones, highBits): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        var place = 0
        while place &+ 8 <= bytes.count {
            let other =
                bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                ^ UInt64(truncatingIfNeeded: byte) &* ones
            // The lowest mark is exact.
            let marks = (other &- ones) & ~other & highBits
            if marks != 0 { return place &+ marks.trailingZeroBitCount &>> 3 }
            place &+= 8
        }
        while place < bytes.count, bytes[place] != byte { place &+= 1 }
        return place
    }
}
