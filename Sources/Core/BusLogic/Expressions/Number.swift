import BusJSON

/// A number while an operator works on it: an exact integer as long as it can be one.
package enum Number: Sendable {
    case int(Int)
    /// May be infinite, since a text can denote infinity; results must be finite.
    case double(Double)

    var asDouble: Double {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        }
    }

    /// Negative, zero or positive; integers and doubles are compared exactly, not by rounding one of them. Zero beside what is
    /// no number.
    package func compared(to other: Number) -> Int {
        switch (self, other) {
        case (.int(let a), .int(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.int(let a), .double(let b)): Self.compare(a, b)
        case (.double(let a), .int(let b)): -Self.compare(b, a)
        }
    }

    private static func compare(_ a: Int, _ b: Double) -> Int {
        if b >= 0x1p63 { return -1 }
        guard b >= -0x1p63 else { return b.isNaN ? 0 : 1 }
        let whole = Int(b.rounded(.towardZero))
        if a != whole { return a < whole ? -1 : 1 }
        let fraction = b - b.rounded(.towardZero)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}

extension JSON {
    /// What this value means where a single number is wanted; nil if it means none. Arrays and objects never mean one.
    @inline(__always)
    var scalarNumber: Number? {
        switch self {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .null: .int(0)
        case .bool(let flag): .int(flag ? 1 : 0)
        case .string(let text): NumberText.whole(text)
        case .array, .object: nil
        }
    }

    /// What this value means where a number is wanted and an array of one stands for its element; nil if it means
    /// none.
    var number: Number? {
        guard case .array(let elements) = self else { return scalarNumber }
        // An array means what its text means. The text of two or more elements has a comma, so it is no number.
        return switch elements.count {
        case 0: .int(0)
        case 1: elements[0].numberOfOnlyElement
        default: nil
        }
    }

    private var numberOfOnlyElement: Number? {
        // The text of [true] is "true", which means no number, though `true` itself means 1.
        if case .bool = self { return nil }
        return number
    }

    /// What this value means to `+` and `*`: a text means the number it begins with; nil if there is none.
    var leadingNumber: Number? {
        switch self {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .string(let text): NumberText.leading(text) ?? NumberText.whole(text)
        default: scalarNumber
        }
    }

    /// A whole number of either kind, as an integer; nil for any other value, and for a double out of range.
    var wholeNumber: Int? {
        switch self {
        case .int(let number): number
        case .double(let number): Int(exactly: number)
        default: nil
        }
    }
}
