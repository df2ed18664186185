/// A double that a decimal of at most 15 digits stands for, as nearly all doubles in states do: 21.5, 0.25, 7.0.
///
/// No two decimals of 15 digits are the same double, so one that rounds to the double is its shortest text,
/// and the general search for that is not needed.
struct ShortDecimal {
    /// The digits without the point, and how many of them stand behind it: at least one.
    let digits: Int
    let decimals: Int
    let isNegative: Bool

    init?(_ value: Double) {
        let magnitude = value.magnitude
        isNegative = value.sign == .minus
        if magnitude < 1e14, Double(Int(magnitude)) == magnitude {
            digits = Int(magnitude) &* 10
            decimals = 1
            return
        }
        // Smaller numbers are written with an exponent.
        guard magnitude >= 1e-3, magnitude < 1e12 else { return nil }
        var places = magnitude < 1e9 ? 6 : 3
        let power = magnitude < 1e9 ? 1e6 : 1e3
        var scaled = Int(magnitude * power + 0.5)
        // Both are whole and below 2^53, so the division rounds once: to the double that the decimal stands for.
        guard scaled < 1_000_000_000_000_000, Double(scaled) / power == magnitude else { return nil }
        while places > 1, scaled % 10 == 0 {
            scaled /= 10
            places -= 1
        }
        digits = scaled
        decimals = places
    }

    /// The digits before the point and those behind it, as integers.
    var parts: (whole: Int, fraction: Int) {
        var power = 10
        for _ in 1..<decimals { power &*= 10 }
        let (whole, fraction) = digits.quotientAndRemainder(dividingBy: power)
        return (whole, fraction)
    }

    /// How many bytes the text takes.
    var encodedSize: Int {
        (isNegative ? 2 : 1) + DecimalDigits.count(of: parts.whole.magnitude) + decimals
    }
}
