/// One line of a full-screen program: pieces of text with their colours, as wide as the screen at most.
struct ScreenLine {
    private var pieces: [(text: String, role: Style.Role)] = []
    private(set) var columns = 0

    init(_ text: String = "", _ role: Style.Role = .plain) { add(text, role) }

    var isEmpty: Bool { pieces.isEmpty }

    mutating func add(_ text: String, _ role: Style.Role = .plain) {
        guard !text.isEmpty else { return }
        pieces.append((text, role))
        columns += ScreenText.columns(of: text)
    }

    /// Spaces up to a column.
    mutating func pad(to column: Int) {
        if column > columns { add(String(repeating: " ", count: column - columns)) }
    }

    /// The line for a terminal with this many columns. What is not ASCII is replaced where the terminal can't show it.
    func text(width: Int, style: Style, isUTF8: Bool) -> String {
        var result = ""
        var room = width
        for piece in pieces where room > 0 {
            let text = ScreenText.cut(piece.text, toColumns: room)
            room -= ScreenText.columns(of: text)
            result += style.paint(isUTF8 ? text : Self.ascii(text), piece.role)
        }
        return result
    }

    private static func ascii(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return text.reduce(into: "") { result, character in
            switch character {
            case "µ": result += "u"
            case "…": result += "~"
            case "–": result += "-"
            case "▼": result += "v"
            default: result += character.isASCII ? String(character) : "?"
            }
        }
    }
}
