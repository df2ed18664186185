import BusJSON

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
