/// A decimal number at the beginning of some bytes: an integer where it is written as one and fits, else the nearest double,
/// which may be infinite.
///
/// Whatever its length, it is read in one pass and takes no memory that grows with it.
struct DecimalLiteral {
    let number: Number
    /// How many bytes it takes.
    let length: Int

    /// Nil where the bytes begin with no number.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative || bytes.first == UInt8(ascii: "+") { index = 1 }
        if bytes.dropFirst(index).starts(with: "Infinity".utf8) {
            number = .double(isNegative ? -.infinity : .infinity)
            length = index + 8
            return
        }
        let whole = Self.digits(bytes, from: index)
        var fraction = whole.upperBound..<whole.upperBound
        index = whole.upperBound
        var isWhole = true
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            let digits = Self.digits(bytes, from: index + 1)
            if !whole.isEmpty || !digits.isEmpty {
                isWhole = false
                fraction = digits
                index = digits.upperBound
            }
        }
        guard !whole.isEmpty || !isWhole else { return nil }
        let exponent = Self.exponent(bytes, from: index)
        index = exponent?.end ?? index
        length = index
        if isWhole, exponent == nil, let integer = Self.integer(bytes[whole], isNegative) {
            number = .int(integer)
            return
        }
        let literal =
            index <= Self.longestPlain
            ? String(decoding: bytes[..<index], as: UTF8.self)
            : Self.shortened(bytes, isNegative, whole, fraction, exponent?.value ?? 0)
        guard let double = Double(literal) else { return nil }
        number = .double(double)
    }

    /// A longer one is shortened before it is converted, which would take its length many times over.
    private static let longestPlain = 1024
    /// No double and no middle between two of them has more digits that are not 0.
    private static let mostDigits = 800
    /// Further away every number is 0 or infinite.
    private static let farthest = 1_000_000_000

    /// The same number with as many digits as can matter. What is behind them only says whether there is more.
    private static func shortened(
        _ bytes: UnsafeRawBufferPointer, _ isNegative: Bool, _ whole: Range<Int>, _ fraction: Range<Int>,
        _ exponent: Int
    ) -> String {
        let sign = isNegative ? "-" : ""
        // The digits from the first that is not 0, and how many stand before the point, of `0.DIGITS`.
        var parts = [zeros(bytes, in: whole)..<whole.upperBound, fraction]
        var point = parts[0].count
        if parts[0].isEmpty {
            let start = zeros(bytes, in: fraction)
            parts = [start..<fraction.upperBound]
            point = fraction.lowerBound - start
        }
        var digits = ""
        var hasMore = false
        for part in parts where !hasMore {
            let kept = part.prefix(mostDigits - digits.utf8.count)
            digits += String(decoding: bytes[kept], as: UTF8.self)
            hasMore = zeros(bytes, in: kept.upperBound..<part.upperBound) < part.upperBound
        }
        if digits.isEmpty { return sign + "0.0" }
        let power = min(max(point + exponent, -farthest), farthest)
        return sign + "0." + digits + (hasMore ? "1" : "") + "e\(power)"
    }

    /// Where digits that begin at a place end.
    private static func digits(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Range<Int> {
        var end = start
        // Eight at a time: each has 3 as its upper half, also with 6 added.
        while end + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self)
            let upper = (word | word &+ 0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0
            guard upper == 0x3030_3030_3030_3030, word & 0xf0f0_f0f0_f0f0_f0f0 == upper else { break }
            end += 8
        }
        while end < bytes.count, bytes[end] &- 48 < 10 { end += 1 }
        return start..<end
    }

    /// Where zeros that begin a range end.
    static func zeros(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Int {
        var end = range.lowerBound
        while end + 8 <= range.upperBound,
            bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self) == 0x3030_3030_3030_3030
        {
            end += 8
        }
        while end < range.upperBound, bytes[end] == UInt8(ascii: "0") { end += 1 }
        return end
    }

    private static func integer(_ digits: Slice<UnsafeRawBufferPointer>, _ isNegative: Bool) -> Int? {
        var number = 0
        for digit in digits {
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let value = Int(digit &- 48)
            let (sum, overflowsToo) = tens.addingReportingOverflow(isNegative ? -value : value)
            if overflow || overflowsToo { return nil }
            number = sum
        }
        return number
    }

    /// The exponent at a place and where it ends; nil where there is none.
    private static func exponent(
        _ bytes: UnsafeRawBufferPointer, from start: Int
    ) -> (value: Int, end: Int)? {
        guard start < bytes.count, bytes[start] | 0x20 == UInt8(ascii: "e") else { return nil }
        var index = start + 1
        let isNegative = index < bytes.count && bytes[index] == UInt8(ascii: "-")
        if isNegative || index < bytes.count && bytes[index] == UInt8(ascii: "+") { index += 1 }
        let digits = digits(bytes, from: index)
        if digits.isEmpty { return nil }
        var value = 0
        for digit in bytes[zeros(bytes, in: digits)..<digits.upperBound] {
            if value >= farthest { break }
            value = value * 10 + Int(digit &- 48)
        }
        return (isNegative ? -value : value, digits.upperBound)
    }
}
