/// A length of time as people write it: `500ms`, `30s`, `1.5m`, `2h`, `1m30s`, `7d`, `2w`; a bare number means
/// seconds.
package enum DurationText {
    /// More digits behind a point than this are no use: a week has fewer milliseconds.
    private static let mostDecimals = 9

    /// The length in milliseconds, cut off behind them; nil for anything else, and for what is out of range. It takes
    /// memory for no part of the text.
    package static func milliseconds(_ text: String) -> Int? {
        text.utf8Span.span.withUnsafeBytes { milliseconds($0[...]) }
    }

    private static func milliseconds(_ text: Slice<UnsafeRawBufferPointer>) -> Int? {
        var rest = text
        guard !rest.isEmpty else { return nil }
        var total = 0
        while !rest.isEmpty {
            let isFirst = rest.startIndex == text.startIndex
            guard let number = takeNumber(&rest) else { return nil }
            let letters = rest.prefix { !isDigit($0) }
            rest = rest.dropFirst(letters.count)
            // Only a number that stands alone needs no unit.
            guard let unit = letters.isEmpty && isFirst && rest.isEmpty ? 1000 : unit(letters) else {
                return nil
            }
            let (whole, overflow) = number.whole.multipliedReportingOverflow(by: unit)
            let (sum, overflowsToo) = total.addingReportingOverflow(whole)
            let (all, overflowsAtLast) = sum.addingReportingOverflow(number.decimals * unit / number.power)
            if overflow || overflowsToo || overflowsAtLast { return nil }
            total = all
        }
        return total
    }

    /// A decimal number: `whole + decimals / power`.
    private struct Decimal {
        var whole = 0
        var decimals = 0
        var power = 1
    }

    private static func takeNumber(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Decimal? {
        var number = Decimal()
        let whole = rest.prefix(while: isDigit)
        guard !whole.isEmpty else { return nil }
        for digit in whole {
            let (tens, overflow) = number.whole.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            if overflow || overflowsToo { return nil }
            number.whole = sum
        }
        rest = rest.dropFirst(whole.count)
        guard rest.first == UInt8(ascii: ".") else { return number }
        let decimals = rest.dropFirst().prefix(while: isDigit)
        rest = rest.dropFirst(1 + decimals.count)
        guard 1...mostDecimals ~= decimals.count else { return nil }
        for digit in decimals {
            number.decimals = number.decimals * 10 + Int(digit - UInt8(ascii: "0"))
            number.power *= 10
        }
        return number
    }

    /// The milliseconds of a unit.
    private static func unit(_ letters: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard letters.count <= 2 else { return nil }
        return switch String(decoding: letters, as: UTF8.self) {
        case "ms": 1
        case "s": 1000
        case "m": 60 * 1000
        case "h": 3600 * 1000
        case "d": 86_400 * 1000
        case "w": 7 * 86_400 * 1000
        default: nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
}
