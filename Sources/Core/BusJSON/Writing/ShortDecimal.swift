/// A double that a decimal of at most 15 digits stands for, as nearly all doubles in states do: 21.5, 0.25, 7.0, 4.5e-9.
///
/// No two decimals of 15 digits are the same double, so one that rounds to the double is its shortest text,
/// and the general search for that is not needed.
struct ShortDecimal {
    /// The digits without the point, and how many of them stand behind it: at least one.
    let digits: Int
    let decimals: Int
    let isNegative: Bool
    /// Whether it is written with an exponent, as numbers below 0.0001 are.
    let isTiny: Bool

    init?(_ value: Double) {
        let magnitude = value.magnitude
        isNegative = value.sign == .minus
        isTiny = magnitude < 1e-4 && magnitude > 0
        if magnitude < 1e14, Double(Int(magnitude)) == magnitude {
            digits = Int(magnitude) &* 10
            decimals = 1
            return
        }
        guard magnitude < 1e14, magnitude >= 1e-18 else { return nil }
        // The most decimals with which there are at most 15 digits; 10^22 is the largest power that a double holds.
        let exponent = Int(magnitude.bitPattern >> 52) - 1023
        let places = min(13 - (exponent &* 1233) >> 12, Self.powers.count - 1)
        let power = Self.powers[places]
        let scaled = Int(magnitude * power + 0.5)
        // Both are whole and doubles hold them, so the division rounds once: to the double that the decimal stands for.
        guard scaled < 1_000_000_000_000_000, Double(scaled) / power == magnitude else { return nil }
        (digits, decimals) = Self.withoutZeros(scaled, decimals: places)
    }

    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ]

    /// A number of at most 15 digits with all but one of the zeros behind the point left out.
    private static func withoutZeros(_ scaled: Int, decimals: Int) -> (digits: Int, decimals: Int) {
        var (digits, decimals) = (scaled, decimals)
        if decimals > 8, digits % 100_000_000 == 0 {
            digits /= 100_000_000
            decimals -= 8
        }
        if decimals > 4, digits % 10_000 == 0 {
            digits /= 10_000
            decimals -= 4
        }
        while decimals > 1, digits % 10 == 0 {
            digits /= 10
            decimals -= 1
        }
        return (digits, decimals)
    }

    /// How many bytes the text takes.
    var encodedSize: Int {
        let sign = isNegative ? 1 : 0
        let count = DecimalDigits.count(of: digits.magnitude)
        if isTiny { return sign + (count == 1 ? 1 : count + 1) + 4 }
        return sign + max(count - decimals, 1) + 1 + decimals
    }

    /// How many bytes the text takes at most: 15 digits, three zeros after `0.`, a sign and an exponent.
    static let longest = 28

    /// Writes the text. The digits are written at once, behind the place of the point.
    func write(with pen: inout BytePen) {
        if isNegative { pen.append(UInt8(ascii: "-")) }
        if isTiny { return writeTiny(with: &pen) }
        let count = DecimalDigits.count(of: digits.magnitude)
        if count <= decimals {
            pen.append(UInt8(ascii: "0"))
            pen.append(UInt8(ascii: "."))
            for _ in count..<decimals { pen.append(UInt8(ascii: "0")) }
            return pen.append(decimal: digits)
        }
        writeDigits(pointAt: count - decimals, with: &pen)
    }

    private func writeTiny(with pen: inout BytePen) {
        let count = writeDigits(pointAt: 1, with: &pen)
        // Two digits, since smaller numbers are no short decimals.
        let exponent = decimals + 1 - count
        let tens = exponent / 10
        pen.append(UInt8(ascii: "e"))
        pen.append(UInt8(ascii: "-"))
        pen.append(UInt8(truncatingIfNeeded: 48 + tens))
        pen.append(UInt8(truncatingIfNeeded: 48 + exponent - 10 * tens))
    }

    /// Writes the digits with the point behind some of them, but not at their end; gives how many there are.
    @inline(__always) @discardableResult
    private func writeDigits(pointAt whole: Int, with pen: inout BytePen) -> Int {
        let count = DecimalDigits.write(digits, at: pen.place + 1)
        for index in 0..<whole {
            pen.place.storeBytes(
                of: pen.place.load(fromByteOffset: index + 1, as: UInt8.self), toByteOffset: index,
                as: UInt8.self)
        }
        pen.place.storeBytes(of: UInt8(ascii: "."), toByteOffset: whole, as: UInt8.self)
        pen.advance(count == whole ? count : count + 1)
        return count
    }
}
