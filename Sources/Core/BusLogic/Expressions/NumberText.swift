/// Numbers in texts, read and written the way JsonLogic's home language does it.
enum NumberText {
    /// The number that the whole text is, white space aside; empty is 0; nil when it is none.
    static func whole(_ text: String) -> Number? {
        text.utf8Span.span.withUnsafeBytes { all in
            let bytes = trimmed(all)
            if bytes.isEmpty { return .int(0) }
            if bytes.count > 2, bytes[0] == UInt8(ascii: "0"), let radix = radix(of: bytes[1]) {
                return prefixed(UnsafeRawBufferPointer(rebasing: bytes[2...]), radix: radix)
            }
            guard let literal = DecimalLiteral(bytes), literal.length == bytes.count else { return nil }
            return literal.number
        }
    }

    /// The number that the text begins with, after white space; nil when it begins with none.
    static func leading(_ text: String) -> Number? {
        text.utf8Span.span.withUnsafeBytes { all in
            DecimalLiteral(UnsafeRawBufferPointer(rebasing: all[spaces(all)...]))?.number
        }
    }

    /// The shortest text that means a double: `1` for 1.0, `1e+21`, `0.5`.
    static func text(of value: Double) -> String {
        if value == 0 { return "0" }
        if let whole = Int(exactly: value), abs(value) < 0x1p53 { return String(whole) }
        let sign = value < 0 ? "-" : ""
        var digits: [Character] = []
        var exponent = 0
        var point: Int?
        // Swift's description has the shortest digits; only their layout differs.
        let description = abs(value).description
        let parts = description.split(separator: "e", maxSplits: 1)
        if parts.count == 2 { exponent = Int(parts[1]) ?? 0 }
        for character in parts[0] {
            if character == "." { point = digits.count } else { digits.append(character) }
        }
        var position = (point ?? digits.count) + exponent
        while digits.count > 1, digits.last == "0" { digits.removeLast() }
        while digits.count > 1, digits.first == "0" {
            digits.removeFirst()
            position -= 1
        }
        return sign + layOut(digits, position: position)
    }

    /// Lays out `0.DIGITS × 10^position`.
    private static func layOut(_ digits: [Character], position: Int) -> String {
        let count = digits.count
        if count <= position && position <= 21 {
            return String(digits) + String(repeating: "0", count: position - count)
        }
        if 0 < position && position <= 21 {
            return String(digits[..<position]) + "." + String(digits[position...])
        }
        if -6 < position && position <= 0 {
            return "0." + String(repeating: "0", count: -position) + String(digits)
        }
        let exponent = position - 1
        let fraction = count > 1 ? "." + String(digits[1...]) : ""
        return String(digits[0]) + fraction + "e" + (exponent < 0 ? "-" : "+") + String(abs(exponent))
    }

    private static func radix(of letter: UInt8) -> Int? {
        switch letter | 0x20 {
        case UInt8(ascii: "x"): 16
        case UInt8(ascii: "o"): 8
        case UInt8(ascii: "b"): 2
        default: nil
        }
    }

    /// Digits of another radix; nil where there is anything else, a sign included, and where they mean no integer.
    private static func prefixed(_ digits: UnsafeRawBufferPointer, radix: Int) -> Number? {
        var number = 0
        for byte in digits[DecimalLiteral.zeros(digits, in: 0..<digits.count)...] {
            let digit =
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
                case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - UInt8(ascii: "a")) + 10
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte - UInt8(ascii: "A")) + 10
                default: radix
                }
            guard digit < radix else { return nil }
            let (shifted, overflow) = number.multipliedReportingOverflow(by: radix)
            let (sum, overflowsToo) = shifted.addingReportingOverflow(digit)
            if overflow || overflowsToo { return nil }
            number = sum
        }
        return .int(number)
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var rest = UnsafeRawBufferPointer(rebasing: bytes[spaces(bytes)...])
        while let last = rest.last, isSpace(last) { rest = UnsafeRawBufferPointer(rebasing: rest.dropLast()) }
        return rest
    }

    /// How many bytes of white space begin the text.
    private static func spaces(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytes.firstIndex { !isSpace($0) } ?? bytes.count
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
}
