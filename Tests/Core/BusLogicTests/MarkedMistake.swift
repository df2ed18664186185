import Testing

/// A definition in which `§` marks where a mistake must be found, and what its message says.
struct MarkedMistake: CustomTestStringConvertible {
    let yaml: String
    let message: String
    var testDescription: String { message }

    init(_ yaml: String, _ message: String) {
        self.yaml = yaml
        self.message = message
    }

    /// The definition without the mark.
    var text: String { yaml.replacing("§", with: "") }

    /// The line of the mark, from 1 on.
    var line: Int { get throws { try place.line + 1 } }

    /// Its column, in Unicode scalars from 1 on.
    var column: Int { get throws { try place.column + 1 } }

    private var place: (line: Int, column: Int) {
        get throws {
            let lines = yaml.split(separator: "\n", omittingEmptySubsequences: false)
            let line = try #require(lines.firstIndex { $0.contains("§") })
            return (line, try #require(Array(lines[line].unicodeScalars).firstIndex(of: "§")))
        }
    }
}
