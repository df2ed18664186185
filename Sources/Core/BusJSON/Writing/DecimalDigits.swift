/// Integers in decimal.
@usableFromInline
enum DecimalDigits {
    /// How many bytes from where an integer is written may be touched: its 20, and a word's rest.
    @usableFromInline static var room: Int { 28 }

    /// How many digits a number takes.
    @inlinable
    static func count(of magnitude: UInt) -> Int {
        var length = 1
        var rest = magnitude
        while rest >= 10_000 {
            rest /= 10_000
            length &+= 4
        }
        if rest >= 1000 { return length &+ 3 }
        if rest >= 100 { return length &+ 2 }
        return rest >= 10 ? length &+ 1 : length
    }

    /// Writes an integer and gives how many bytes it took; up to `room` are touched.
    @usableFromInline
    static func write(_ value: Int, at place: UnsafeMutableRawPointer) -> Int {
        // Negative ones are great ones here.
        if UInt(bitPattern: value) < eightDigits { return writeShort(UInt(bitPattern: value), at: place) }
        if value >= 0 { return writeAll(value.magnitude, at: place) }
        place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
        return 1 &+ writeAll(value.magnitude, at: place + 1)
    }

    private static var eightDigits: UInt { 100_000_000 }

    /// Eight digits at a time, from the first to the last.
    private static func writeAll(_ magnitude: UInt, at place: UnsafeMutableRawPointer) -> Int {
        let (head, tail) = magnitude.quotientAndRemainder(dividingBy: eightDigits)
        if head == 0 { return writeShort(tail, at: place) }
        let length = writeAll(head, at: place)
        store(digits(of: tail) | zeros, at: place + length)
        return length &+ 8
    }

    /// Writes a number of at most eight digits: zeros in front are left out, but not the last one.
    @inline(__always)
    static func writeShort(_ magnitude: UInt, at place: UnsafeMutableRawPointer) -> Int {
        let digits = digits(of: magnitude)
        let unused = (digits | 1 &<< 56).trailingZeroBitCount & 56
        store((digits | zeros) &>> UInt64(truncatingIfNeeded: unused), at: place)
        return 8 &- unused &>> 3
    }

    /// The digits of a number below 100,000,000, a byte each, the first one lowest. The number is halved into parts
    /// of four, two and one digit, all of a kind in one multiplication: by 2^n/100 and 2^n/10, rounded up so that
    /// the parts' quotients are exact.
    @inline(__always)
    private static func digits(of magnitude: UInt) -> UInt64 {
        let number = UInt64(truncatingIfNeeded: magnitude)
        let high = number / 10_000
        let fours = high | (number &- high &* 10_000) &<< 32
        let hundreds = (fours &* 10_486) &>> 20 & 0x0000_007f_0000_007f
        let twos = hundreds | (fours &- hundreds &* 100) &<< 16
        let tens = (twos &* 103) &>> 10 & 0x000f_000f_000f_000f
        return tens | (twos &- tens &* 10) &<< 8
    }

    private static var zeros: UInt64 { 0x3030_3030_3030_3030 }

    @inline(__always)
    private static func store(_ word: UInt64, at place: UnsafeMutableRawPointer) {
        place.storeBytes(of: word.littleEndian, as: UInt64.self)
    }
}
