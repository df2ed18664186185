import BusLogic
import BusSource
import BusYAML
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

    /// All that is said about a definition in YAML.
    static func all(in text: String) throws -> [SourceError] {
        var errors: [SourceError] = []
        _ = DeclaredType.load(try LocatedValue.read(text, file: "lamp.yaml"), &errors)
        return errors
    }

    /// Expects the message at the mark, among all that is said about the definition in which the mistake stands.
    func expectMessage(in definition: (_ mistake: String) -> String) throws {
        let whole = MarkedMistake(definition(yaml), message)
        let found = try Self.all(in: whole.text)
        let (line, column) = (try whole.line, try whole.column)
        #expect(
            found.contains { $0.line == line && $0.column == column && $0.message.contains(message) },
            "\(found)")
    }

    private var place: (line: Int, column: Int) {
        get throws {
            let lines = yaml.split(separator: "\n", omittingEmptySubsequences: false)
            let line = try #require(lines.firstIndex { $0.contains("§") })
            return (line, try #require(Array(lines[line].unicodeScalars).firstIndex(of: "§")))
        }
    }
}
