/// Values in words, as they are written in code, without the names of modules.
enum ValueText {
    /// The longest text of one value.
    private static let longest = 300

    static func of(_ value: Any) -> String {
        let text = whole(value)
        return text.count > longest ? "\(text.prefix(longest))…" : text
    }

    private static func whole(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        let children = mirror.children
        switch mirror.displayStyle {
        case .optional: return children.first.map { whole($0.value) } ?? "nil"
        case .collection: return "[\(list(children.map { whole($0.value) }))]"
        case .set: return "[\(list(children.map { whole($0.value) }.sorted()))]"
        case .dictionary:
            let pairs = children.map { pair in
                Mirror(reflecting: pair.value).children.map { whole($0.value) }.joined(separator: ": ")
            }
            return "[\(pairs.isEmpty ? ":" : list(pairs.sorted()))]"
        default: break
        }
        // Spaces in text can be seen in quotes.
        if value is any StringProtocol || value is Character { return String(reflecting: value) }
        if value is any CustomStringConvertible { return String(describing: value) }
        switch mirror.displayStyle {
        case .struct: return "\(type(of: value))(\(members(children)))"
        case .tuple: return "(\(members(children)))"
        case .enum:
            guard let payload = children.first, let name = payload.label else { break }
            let inner = Mirror(reflecting: payload.value)
            return inner.displayStyle == .tuple
                ? "\(name)(\(members(inner.children)))" : "\(name)(\(whole(payload.value)))"
        default: break
        }
        return String(describing: value)
    }

    private static func members(_ children: Mirror.Children) -> String {
        list(
            children.map { label, value in
                guard let label, !label.hasPrefix("."), label != "_" else { return whole(value) }
                return "\(label): \(whole(value))"
            })
    }

    private static func list(_ texts: [String]) -> String { texts.joined(separator: ", ") }
}
