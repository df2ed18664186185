import BusJSON

/// Source text in the making: lines, indented by how deep they stand.
struct CodeText {
    private(set) var text = ""
    private let unit: String
    private var depth = 0

    init(indentedBy unit: String) { self.unit = unit }

    mutating func line(_ line: String = "") {
        text += line.isEmpty ? "\n" : String(repeating: unit, count: depth) + line + "\n"
    }

    mutating func lines(_ lines: [String]) { for each in lines { line(each) } }

    /// Lines between `opening` and `closing`, one step deeper.
    mutating func block(_ opening: String, _ closing: String? = "}", _ body: (inout CodeText) -> Void) {
        line(opening)
        depth += 1
        body(&self)
        depth -= 1
        if let closing { line(closing) }
    }
}

/// Text of a definition on its way into a source file. Nothing in it can end the comment or the literal in which it is put,
/// or look like something else than it is.
enum SourceText {
    /// The lines of a summary. What no line can show, such as control characters and marks that reverse the direction of
    /// writing, is replaced.
    static func lines(of text: String?) -> [String] {
        guard let text else { return [] }
        var lines: [String.UnicodeScalarView] = [.init()]
        for scalar in text.unicodeScalars {
            if isLineEnd(scalar) {
                lines.append(.init())
            } else {
                lines[lines.count - 1].append(isShown(scalar) ? scalar : scalar == "\t" ? " " : "\u{fffd}")
            }
        }
        let trimmed = lines.map { line in
            var rest = String(line)[...]
            while rest.last == " " { rest.removeLast() }
            return String(rest)
        }
        return trimmed.filter { !$0.isEmpty }
    }

    /// A literal in double quotes. `escape` writes a character that can't stand for itself.
    static func quoted(_ text: String, escape: (Unicode.Scalar) -> String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where isShown(scalar): result.unicodeScalars.append(scalar)
            default: result += escape(scalar)
            }
        }
        return result + "\""
    }

    /// `\u00e9`, `\U0001f600`.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        scalar.value > 0xffff
            ? "\\U" + hexadecimal(scalar, digits: 8) : "\\u" + hexadecimal(scalar, digits: 4)
    }

    /// A number of hexadecimal digits.
    static func hexadecimal(_ scalar: Unicode.Scalar, digits: Int = 0) -> String {
        let number = String(scalar.value, radix: 16)
        return String(repeating: "0", count: max(0, digits - number.count)) + number
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0a...0x0d, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Whether a reader sees the character where it stands.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        if 0x20..<0x7f ~= scalar.value { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
            return false
        default: return !scalar.properties.isDefaultIgnorableCodePoint
        }
    }
}
