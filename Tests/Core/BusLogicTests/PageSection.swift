import BusJSON
import TestFiles
import Testing

/// A section of a page that explains operators or functions, with its examples.
struct PageSection {
    /// The names in its heading, each between backticks.
    let names: [String]
    private(set) var examples: [JSON] = []

    /// The sections of a page of this target's documentation.
    static func all(of page: String) throws -> [PageSection] {
        let text = try Repository.text("Sources/Core/BusLogic/BusLogic.docc/\(page)")
        var sections: [PageSection] = []
        var isExample = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isExample = line == "```json"
            } else if isExample {
                try #require(!sections.isEmpty, "\(line) stands above all sections")
                sections[sections.count - 1].examples.append(try JSON(parsing: String(line)))
            } else if line.hasPrefix("### ") {
                let parts = line.split(separator: "`", omittingEmptySubsequences: false)
                let names = parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map {
                    String($0.element)
                }
                sections.append(PageSection(names: names))
            }
        }
        return sections
    }
}
