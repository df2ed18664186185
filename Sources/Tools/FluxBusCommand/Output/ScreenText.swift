import BusJSON

/// Text from the bus made safe for a terminal: nothing in it can move the cursor or change colours, all of it is
/// visible, and it can be cut to a width.
package enum ScreenText {
    /// `text` with control characters and invisible characters written as escapes.
    package static func safe(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        var isJoinable = false
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar), !(isJoinable && isJoiner(scalar)) {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
                isJoinable = false
            } else {
                result.unicodeScalars.append(scalar)
                isJoinable = scalar.value > 0x7f && !isUnsafe(scalar)
            }
        }
        return result
    }

    /// Controls, line separators, and characters that fonts don't show: marks that reverse the direction of writing,
    /// spaces without width, fillers, tags.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f...0x9f: return true
        case 0x20..<0x7f: return false
        // Separators of lines and paragraphs; marks of annotations.
        case 0x2028, 0x2029, 0xfff9...0xfffb: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Characters that join two, or choose a form of the previous one: after a character beyond
    /// ASCII they belong to the script.
    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200c, 0x200d, 0xfe00...0xfe0f: true
        default: false
        }
    }

    /// A value in its canonical encoding.
    package static func value(_ value: JSON) -> String { safe(value.encoded) }

    /// `text` cut to `width` columns, with an ellipsis where something is missing.
    package static func cut(_ text: String, to width: Int) -> String {
        guard text.count > width else { return text }
        return String(text.prefix(max(0, width - 1))) + "…"
    }

    /// How many columns of a terminal `text` takes: two for wide characters, none for marks on the one before.
    package static func columns(of text: String) -> Int {
        text.utf8.count == text.unicodeScalars.count
            ? text.utf8.count : text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0..<0x300: return 1
        case 0x200c, 0x200d, 0xfe00...0xfe0f: return 0
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff,
            0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff,
            0x1f900...0x1f9ff, 0x20000...0x3fffd:
            return 2
        default:
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark: return 0
            default: return 1
            }
        }
    }

    /// `text` cut to so many columns of a terminal, with an ellipsis where something is missing.
    package static func cut(_ text: String, toColumns width: Int) -> String {
        guard columns(of: text) > width else { return text }
        guard width > 0 else { return "" }
        var result = ""
        var used = 0
        for character in text {
            let columns = columns(of: String(character))
            guard used + columns < width else { break }
            result.append(character)
            used += columns
        }
        return result + "…"
    }

    /// A member's path as people write it, `items[2].name`; an ambiguous name is in quotes.
    package static func path(_ segments: [PathSegment]) -> String {
        var result = ""
        for segment in segments {
            switch segment {
            case .index(let index): result += "[\(index)]"
            case .key(let key):
                let isPlain =
                    !key.isEmpty && key.unicodeScalars.allSatisfy { $0.properties.isXIDContinue || $0 == "-" }
                if !result.isEmpty { result += "." }
                result += isPlain ? key : value(.string(key))
            }
        }
        return result
    }
}

/// One step from a state into it.
package enum PathSegment: Equatable, Sendable {
    case key(String)
    case index(Int)
}

/// A JSON value over several lines, for people: members in order, empty and short values on one line.
package enum IndentedJSON {
    /// A value whose one-line form fits into this many columns stays on one line.
    private static let shortEnough = 72

    package static func lines(_ value: JSON, style: Style, indent: String = "") -> [String] {
        render(value, style: style, indent: indent).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    private static func render(_ value: JSON, style: Style, indent: String, isRoot: Bool = true) -> String {
        let flat = ScreenText.value(value)
        switch value {
        case .object(let object) where !object.isEmpty && (isRoot || flat.count + indent.count > shortEnough):
            let inner = indent + "  "
            let members = object.map { member in
                let key = style.paint(ScreenText.value(.string(member.key)), .address)
                return inner + key + ": "
                    + render(member.value, style: style, indent: inner, isRoot: false)
            }
            return "{\n" + members.joined(separator: ",\n") + "\n" + indent + "}"
        case .array(let elements) where !elements.isEmpty && flat.count + indent.count > shortEnough:
            let inner = indent + "  "
            let rendered = elements.map { inner + render($0, style: style, indent: inner, isRoot: false) }
            return "[\n" + rendered.joined(separator: ",\n") + "\n" + indent + "]"
        default: return flat
        }
    }
}
