/// An expression as text that reads back to the same term.
extension Term: CustomStringConvertible {
    package var description: String {
        var text = ""
        write(to: &text, atLeast: 0)
        return text
    }

    /// How strongly the term's outermost operator binds. The term needs brackets where its place asks for more.
    private var strength: Int {
        switch form {
        case .conditional: 0
        case .any: 1
        case .all: 2
        case .binary(let operation, _, _): operation.strength
        case .unary: 6
        case .null, .bool, .int, .double, .text, .name, .member, .index, .call, .list, .map: 7
        }
    }

    private func write(to text: inout String, atLeast needed: Int) {
        if strength < needed {
            text += "("
            writeForm(to: &text)
            text += ")"
        } else {
            writeForm(to: &text)
        }
    }

    private func writeForm(to text: inout String) {
        switch form {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .double(let number): text += number.description
        case .text(let content): Self.write(quoted: content, to: &text)
        case .name(let name): text += name
        case .member(let owner, let name, let isOptional):
            owner.write(to: &text, atLeast: 7)
            text += isOptional ? ".?" : "."
            text += Self.isPlain(name) ? name : "`\(name)`"
        case .index(let owner, let key, let isOptional):
            owner.write(to: &text, atLeast: 7)
            text += isOptional ? "[?" : "["
            key.write(to: &text, atLeast: 0)
            text += "]"
        case .call(let name, let receiver, let arguments):
            if let receiver {
                receiver.write(to: &text, atLeast: 7)
                text += "."
            }
            text += name
            Self.write(arguments, between: "(", ")", to: &text) { $0.write(to: &$1, atLeast: 0) }
        case .list(let elements):
            Self.write(elements, between: "[", "]", to: &text) { element, text in
                if element.isOptional { text += "?" }
                element.value.write(to: &text, atLeast: 0)
            }
        case .map(let entries):
            Self.write(entries, between: "{", "}", to: &text) { entry, text in
                if entry.isOptional { text += "?" }
                entry.key.write(to: &text, atLeast: 0)
                text += ": "
                entry.value.write(to: &text, atLeast: 0)
            }
        case .unary(let sign, let operand): operand.write(behind: sign, to: &text)
        case .binary(let operation, let left, let right):
            left.write(to: &text, atLeast: operation.strength)
            text += " \(operation.rawValue) "
            right.write(to: &text, atLeast: operation.strength + 1)
        case .all(let terms): Self.write(terms, " && ", atLeast: 3, to: &text)
        case .any(let terms): Self.write(terms, " || ", atLeast: 2, to: &text)
        case .conditional(let condition, let one, let other):
            condition.write(to: &text, atLeast: 1)
            text += " ? "
            one.write(to: &text, atLeast: 1)
            text += " : "
            other.write(to: &text, atLeast: 0)
        }
    }

    /// A minus before digits would be a part of the number.
    private func write(behind sign: Unary, to text: inout String) {
        var operand = ""
        write(to: &operand, atLeast: 6)
        let isNumber = sign == .negative && operand.utf8.first.map(Lexer.isDigit) == true
        text += isNumber ? "\(sign.rawValue)(\(operand))" : sign.rawValue + operand
    }

    private static func write(
        _ terms: [Term], _ symbol: String, atLeast needed: Int, to text: inout String
    ) {
        for (index, term) in terms.enumerated() {
            if index > 0 { text += symbol }
            term.write(to: &text, atLeast: needed)
        }
    }

    private static func write<Part>(
        _ parts: [Part], between opening: String, _ closing: String, to text: inout String,
        _ body: (Part, inout String) -> Void
    ) {
        text += opening
        for (index, part) in parts.enumerated() {
            if index > 0 { text += ", " }
            body(part, &text)
        }
        text += closing
    }

    private static func isPlain(_ name: String) -> Bool {
        name.utf8.first.map(Lexer.isNameStart) == true && name.utf8.allSatisfy(Lexer.isNamePart)
            && !["true", "false", "null", "in"].contains(name)
    }

    /// Writes a quoted string. Quotes, backslashes and control characters are escaped.
    package static func write(quoted content: String, to text: inout String) {
        text += "\""
        for scalar in content.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                let digits = String(scalar.value, radix: 16)
                text += "\\x" + (digits.count < 2 ? "0" : "") + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension Term.Binary {
    /// How strongly it binds.
    var strength: Int {
        switch self {
        case .equal, .unequal, .less, .lessOrEqual, .greater, .greaterOrEqual, .isIn: 3
        case .sum, .difference: 4
        case .product, .quotient, .remainder: 5
        }
    }
}
