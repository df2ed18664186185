/// Numbers in texts, read and written the way JsonLogic's home language does it.
enum NumberText {
    /// The number that the whole text is, white space aside; empty is 0; nil when it is none.
    static func whole(_ text: String) -> Number? {
        let bytes = trimmed(Array(text.utf8)[...])
        if bytes.isEmpty { return .int(0) }
        if bytes.count > 2, bytes.first == UInt8(ascii: "0"),
            let radix = radix(of: bytes[bytes.startIndex + 1])
        {
            return prefixed(bytes.dropFirst(2), radix: radix)
        }
        guard let (number, length) = decimal(bytes), length == bytes.count else { return nil }
        return number
    }

    /// The number that the text begins with, after white space; nil when it begins with none.
    static func leading(_ text: String) -> Number? {
        decimal(Array(text.utf8)[...].drop(while: isSpace))?.number
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

    /// The decimal number at the beginning of `bytes` and how many bytes it takes.
    private static func decimal(_ bytes: ArraySlice<UInt8>) -> (number: Number, length: Int)? {
        var rest = bytes
        let negative = rest.first == UInt8(ascii: "-")
        if negative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        if rest.starts(with: "Infinity".utf8) {
            let length = rest.startIndex + 8 - bytes.startIndex
            return (.double(negative ? -.infinity : .infinity), length)
        }
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var isWhole = true
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix(while: isDigit)
            if !whole.isEmpty || !fraction.isEmpty {
                isWhole = false
                rest = rest.dropFirst(1 + fraction.count)
            }
        }
        guard !whole.isEmpty || !isWhole else { return nil }
        let exponent = exponentLength(rest)
        isWhole = isWhole && exponent == 0
        rest = rest.dropFirst(exponent)
        let literal = String(decoding: bytes[..<rest.startIndex], as: UTF8.self)
        if isWhole, let number = Int(literal) { return (.int(number), rest.startIndex - bytes.startIndex) }
        guard let number = Double(literal) else { return nil }
        return (.double(number), rest.startIndex - bytes.startIndex)
    }

    private static func exponentLength(_ bytes: ArraySlice<UInt8>) -> Int {
        guard let first = bytes.first, first | 0x20 == UInt8(ascii: "e") else { return 0 }
        var rest = bytes.dropFirst()
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let digits = rest.prefix(while: isDigit)
        return digits.isEmpty ? 0 : rest.startIndex - bytes.startIndex + digits.count
    }

    private static func radix(of letter: UInt8) -> Int? {
        switch letter | 0x20 {
        case UInt8(ascii: "x"): 16
        case UInt8(ascii: "o"): 8
        case UInt8(ascii: "b"): 2
        default: nil
        }
    }

    private static func prefixed(_ digits: ArraySlice<UInt8>, radix: Int) -> Number? {
        // A sign would be taken by Int, but not by JsonLogic.
        guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else {
            return nil
        }
        return Int(String(decoding: digits, as: UTF8.self), radix: radix).map { .int($0) }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
    private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
}
