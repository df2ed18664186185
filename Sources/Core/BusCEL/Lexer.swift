/// Cuts the text of an expression into tokens, one after the other.
struct Lexer {
    struct Token: Equatable {
        enum Kind: Equatable {
            case int(Int)
            /// The digits of an integer that only fits with a minus before it.
            case leastInt
            case double(Double)
            case text(String)
            /// A name, or a word such as `in`.
            case name(String)
            /// A name between backticks, which may follow a point.
            case quotedName(String)
            /// An operator or a bracket.
            case symbol(String)
            case end
        }

        let kind: Kind
        let position: Term.Position

        /// What a message calls it.
        var phrase: String {
            switch kind {
            case .int(let number): "\(number)"
            case .leastInt: "9223372036854775808"
            case .double(let number): "\(number)"
            case .text: "a text"
            case .name(let name), .symbol(let name): "`\(name)`"
            case .quotedName(let name): "`\(name)` in backticks"
            case .end: "the end"
            }
        }
    }

    let bytes: [UInt8]
    var offset = 0
    var line: Int
    var column: Int

    init(_ text: String, from start: Term.Position) {
        bytes = Array(text.utf8)
        line = start.line
        column = start.column
    }

    var position: Term.Position { Term.Position(line: line, column: column) }

    func byte(_ distance: Int = 0) -> UInt8? {
        offset + distance < bytes.count ? bytes[offset + distance] : nil
    }

    func follows(_ text: StaticString) -> Bool {
        guard offset + text.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[offset + $0] == text.utf8Start[$0] }
    }

    mutating func advance(_ count: Int = 1) {
        for byte in bytes[offset..<(offset + count)] {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
        }
        offset += count
    }

    mutating func next() throws(TermError) -> Token {
        skipSpace()
        let start = position
        return Token(kind: try kind(), position: start)
    }

    private mutating func skipSpace() {
        while let byte = byte() {
            if byte == UInt8(ascii: "/"), self.byte(1) == byte {
                while let byte = self.byte(), byte != UInt8(ascii: "\n") { advance() }
            } else if byte == 0x20 || 0x09...0x0d ~= byte {
                advance()
            } else {
                return
            }
        }
    }

    private mutating func kind() throws(TermError) -> Token.Kind {
        guard let first = byte() else { return .end }
        switch first {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try text(isRaw: false))
        case _ where Self.isDigit(first): return try number()
        case UInt8(ascii: ".") where byte(1).map(Self.isDigit) == true: return try number()
        case UInt8(ascii: "`"): return try quotedName()
        case _ where Self.isNameStart(first): return try name()
        default: return try symbol()
        }
    }

    // MARK: Names and symbols

    static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
    static func isNameStart(_ byte: UInt8) -> Bool {
        97...122 ~= byte || 65...90 ~= byte || byte == UInt8(ascii: "_")
    }
    static func isNamePart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }

    private mutating func name() throws(TermError) -> Token.Kind {
        let start = position
        var count = 1
        while let byte = byte(count), Self.isNamePart(byte) { count += 1 }
        let name = String(decoding: bytes[offset..<(offset + count)], as: UTF8.self)
        if let quote = byte(count), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            switch name {
            case "r", "R":
                advance()
                return .text(try text(isRaw: true))
            case "b", "B", "br", "Br", "bR", "BR", "rb", "rB", "Rb", "RB":
                throw TermError("there are no bytes here; write the text without \(name).", at: start)
            default: break
            }
        }
        advance(count)
        return .name(name)
    }

    private mutating func quotedName() throws(TermError) -> Token.Kind {
        let start = position
        var count = 1
        while let byte = byte(count), Self.isNamePart(byte) || [0x20, 0x2d, 0x2e, 0x2f].contains(byte) {
            count += 1
        }
        guard count > 1, byte(count) == UInt8(ascii: "`") else {
            throw TermError(
                "a name in backticks has letters, digits, _, -, ., / and spaces, and ends with a backtick; "
                    + "write [\"…\"] for any other key.", at: start)
        }
        let name = String(decoding: bytes[(offset + 1)..<(offset + count)], as: UTF8.self)
        advance(count + 1)
        return .quotedName(name)
    }

    private static let symbols: [StaticString] = [
        "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", "(", ")", "[",
        "]",
        "{", "}", ",", ".",
    ]

    private mutating func symbol() throws(TermError) -> Token.Kind {
        for symbol in Self.symbols where follows(symbol) {
            advance(symbol.utf8CodeUnitCount)
            return .symbol("\(symbol)")
        }
        let start = position
        let scalar =
            String(decoding: bytes[offset..<min(offset + 4, bytes.count)], as: UTF8.self)
            .unicodeScalars.first.map { String($0) } ?? ""
        let hint =
            switch scalar {
            case "=": "write == to compare."
            case "&": "write && for `and`."
            case "|": "write || for `or`."
            case "\u{201c}", "\u{201d}", "\u{201e}", "\u{2018}", "\u{2019}": "write \"…\" or '…'."
            case "$", "@", "#": "write a name without it."
            case "^": "write math.bitXor(a, b), or a * a for a square."
            case ";": "write one expression, and cel.bind(name, value, expression) to give a value a name."
            default: "leave it out, or write it in quotes."
            }
        throw TermError("`\(scalar)` means nothing here; \(hint)", at: start)
    }
}
