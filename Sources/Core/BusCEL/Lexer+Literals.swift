/// Numbers and texts.
extension Lexer {
    mutating func number() throws(TermError) -> Token.Kind {
        let start = position
        if byte() == UInt8(ascii: "0"), byte(1) == UInt8(ascii: "x") || byte(1) == UInt8(ascii: "X") {
            return try hexadecimal(from: start)
        }
        var count = digits(from: 0)
        var isWhole = true
        if byte(count) == UInt8(ascii: "."), byte(count + 1).map(Self.isDigit) == true {
            isWhole = false
            count += 1
            count += digits(from: count)
        }
        if byte(count).map({ $0 | 0x20 }) == UInt8(ascii: "e") {
            let sign = byte(count + 1) == UInt8(ascii: "+") || byte(count + 1) == UInt8(ascii: "-") ? 1 : 0
            let exponent = digits(from: count + 1 + sign)
            if exponent > 0 {
                isWhole = false
                count += 1 + sign + exponent
            }
        }
        let text = String(decoding: bytes[offset..<(offset + count)], as: UTF8.self)
        try expectEnd(after: count, of: text, from: start)
        advance(count)
        if isWhole { return try integer(text, radix: 10, from: start) }
        // A text that begins with a point is a number for CEL and none for Swift.
        guard let value = Double("0" + text), value.isFinite else {
            throw TermError("\(text) is too large for a number; write a smaller one.", at: start)
        }
        return .double(value)
    }

    private mutating func hexadecimal(from start: Term.Position) throws(TermError) -> Token.Kind {
        var count = 2
        while let byte = byte(count), Self.isHexadecimal(byte) { count += 1 }
        let text = String(decoding: bytes[offset..<(offset + count)], as: UTF8.self)
        guard count > 2 else { throw TermError("0x has no digits; write one, such as 0x1f.", at: start) }
        try expectEnd(after: count, of: text, from: start)
        advance(count)
        return try integer(String(text.dropFirst(2)), radix: 16, from: start)
    }

    private func integer(_ digits: String, radix: Int, from start: Term.Position) throws(TermError)
        -> Token.Kind
    {
        if let number = Int(digits, radix: radix) { return .int(number) }
        if Int("-" + digits, radix: radix) != nil { return .leastInt }
        throw TermError(
            "an integer has at most 64 bits; write a smaller one, or a number with a point.", at: start)
    }

    /// Refuses a number that goes on as a name would.
    private func expectEnd(after count: Int, of text: String, from start: Term.Position) throws(TermError) {
        guard let next = byte(count), Self.isNamePart(next) else { return }
        if next | 0x20 == UInt8(ascii: "u"), byte(count + 1).map(Self.isNamePart) != true {
            throw TermError("there are no unsigned integers here; write \(text).", at: start)
        }
        throw TermError(
            "\(text) runs into the letters behind it; write an operator or a space between them.", at: start)
    }

    private func digits(from distance: Int) -> Int {
        var count = 0
        while let byte = byte(distance + count), Self.isDigit(byte) { count += 1 }
        return count
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || 97...102 ~= byte | 0x20
    }

    // MARK: Texts

    /// The text whose first quote is next.
    mutating func text(isRaw: Bool) throws(TermError) -> String {
        let start = position
        guard let quote = byte() else { return "" }
        let isTriple = byte(1) == quote && byte(2) == quote
        advance(isTriple ? 3 : 1)
        var content: [UInt8] = []
        while let byte = byte() {
            if byte == quote, !isTriple || self.byte(1) == quote && self.byte(2) == quote {
                advance(isTriple ? 3 : 1)
                return String(decoding: content, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"), !isTriple { break }
            if byte == UInt8(ascii: "\\"), !isRaw {
                content.append(contentsOf: try escape())
            } else if byte == UInt8(ascii: "\r") {
                // A line ends in one way, however the text was saved.
                advance(self.byte(1) == UInt8(ascii: "\n") ? 2 : 1)
                content.append(UInt8(ascii: "\n"))
            } else {
                content.append(byte)
                advance()
            }
        }
        let mark = String(repeating: Character(Unicode.Scalar(quote)), count: isTriple ? 3 : 1)
        throw TermError("this text has no end; write \(mark) behind it.", at: start)
    }

    private static let letters: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10,
        UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9, UInt8(ascii: "v"): 11, UInt8(ascii: "\\"): 92,
        UInt8(ascii: "?"): 63, UInt8(ascii: "\""): 34, UInt8(ascii: "'"): 39, UInt8(ascii: "`"): 96,
        UInt8(ascii: "/"): 47,
    ]

    /// The bytes that a backslash and what follows mean.
    private mutating func escape() throws(TermError) -> [UInt8] {
        let start = position
        let letter = byte(1) ?? 0
        if let byte = Self.letters[letter] {
            advance(2)
            return [byte]
        }
        let (skipped, count, radix): (Int, Int, Int) =
            switch letter {
            case UInt8(ascii: "x"), UInt8(ascii: "X"): (2, 2, 16)
            case UInt8(ascii: "u"): (2, 4, 16)
            case UInt8(ascii: "U"): (2, 8, 16)
            case UInt8(ascii: "0")...UInt8(ascii: "3"): (1, 3, 8)
            default: (1, 0, 16)
            }
        guard count > 0, var code = code(from: skipped, count, radix: radix) else {
            throw Self.noEscape(at: start)
        }
        var length = skipped + count
        if letter == UInt8(ascii: "u"), 0xd800...0xdbff ~= code, byte(6) == UInt8(ascii: "\\"),
            byte(7) == letter, let low = self.code(from: 8, 4, radix: 16), 0xdc00...0xdfff ~= low
        {
            code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
            length = 12
        }
        guard let scalar = Unicode.Scalar(code) else {
            guard 0xd800...0xdfff ~= code else { throw Self.noEscape(at: start) }
            throw TermError(
                "this escape is half of a character; write both halves, as in \\ud83d\\ude00, or \\U0001f600.",
                at: start)
        }
        advance(length)
        return Array(String(scalar).utf8)
    }

    /// The number that `count` digits make, which begin at a distance from here; nil unless they are all there.
    private func code(from distance: Int, _ count: Int, radix: Int) -> UInt32? {
        let start = min(offset + distance, bytes.count)
        let digits = bytes[start..<min(start + count, bytes.count)]
        guard digits.count == count, digits.allSatisfy(Self.isHexadecimal) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: radix)
    }

    private static func noEscape(at place: Term.Position) -> TermError {
        TermError(
            "this escape means nothing; write \\n, \\t, \\\", \\\\, \\u00e9 or \\U0001f600, or r\"…\" for a text "
                + "without escapes.", at: place)
    }
}
