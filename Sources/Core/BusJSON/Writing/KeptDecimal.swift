/// An integer with its digits, for one that is written several times.
///
/// The caller passes the integer to write, and the digits are used if they are that integer's: so they can't be wrong,
/// only useless.
@frozen
public struct KeptDecimal: Sendable {
    @usableFromInline let value: Int
    /// The first digit is the lowest byte.
    @usableFromInline let digits: UInt64
    @usableFromInline let count: Int

    /// Keeps the digits of integers that have at most eight of them; else those of 0.
    public init(_ value: Int) {
        let kept = value >= 0 && value < 100_000_000 ? value : 0
        var digits: UInt64 = 0
        count = withUnsafeMutableBytes(of: &digits) { room in
            DecimalDigits.writeShort(UInt(bitPattern: kept), at: room.baseAddress!)
        }
        self.value = kept
        self.digits = digits
    }
}

extension BytePen {
    /// Writes an integer, whose digits may be kept.
    @inlinable @inline(__always)
    public mutating func append(decimal value: Int, kept: KeptDecimal) {
        guard kept.value == value else { return append(decimal: value) }
        place.storeBytes(of: kept.digits, as: UInt64.self)
        advance(kept.count)
    }
}
