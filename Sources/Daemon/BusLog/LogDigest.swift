/// A 64-bit digest that detects damage: flipped bits, torn pages, bytes of another row. It keeps no attacker out: a
/// process that can write the file can write digests too.
///
/// It multiplies 64 by 64 bits and folds the halves, sixteen bytes at a time in two independent lanes, since every byte
/// that is written or read goes through it.
struct LogDigest: Equatable {
    private(set) var value: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// Adds a number.
    mutating func add(_ number: Int) {
        value = Self.fold(value ^ UInt64(bitPattern: Int64(number)), 0xd6e8_feb8_6659_fd93)
    }

    /// Adds bytes. Where one call ends and the next begins counts too.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var left = value
        var right = value ^ 0xe703_7ed1_a0b4_28db
        var place = 0
        while place + 16 <= bytes.count {
            left = Self.fold(left ^ Self.word(bytes, place), 0xa076_1d64_78bd_642f)
            right = Self.fold(right ^ Self.word(bytes, place + 8), 0x8ebc_6af0_9c88_c6e3)
            place += 16
        }
        var tail: (UInt64, UInt64) = (0, 0)
        for offset in place..<bytes.count {
            let byte = UInt64(bytes[offset])
            if offset - place < 8 {
                tail.0 |= byte << UInt64(8 * (offset - place))
            } else {
                tail.1 |= byte << UInt64(8 * (offset - place - 8))
            }
        }
        left = Self.fold(left ^ tail.0, 0xa076_1d64_78bd_642f)
        right = Self.fold(right ^ tail.1, 0x8ebc_6af0_9c88_c6e3)
        value = Self.fold(left ^ UInt64(bytes.count), right | 1)
    }

    /// The digits of its text.
    static let digits = 16

    /// Sixteen hexadecimal digits.
    var text: String {
        String(unsafeUninitializedCapacity: Self.digits) { bytes in
            var count = 0
            writeText(to: UnsafeMutableRawBufferPointer(bytes), at: &count)
            return count
        }
    }

    /// Writes the same digits as bytes.
    func writeText(to bytes: UnsafeMutableRawBufferPointer, at place: inout Int) {
        for shift in stride(from: 60, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 15
            bytes[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            place += 1
        }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
