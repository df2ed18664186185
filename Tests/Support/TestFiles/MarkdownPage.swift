import Foundation

/// A page of the documentation, cut into the parts that tests look at.
package struct MarkdownPage {
    /// What stands between two fences.
    package struct Block: Sendable {
        /// Behind the opening fence: `types`.
        package let kind: String
        package let text: String
        /// The line of the opening fence, counted from 1.
        package let line: Int
    }

    package private(set) var blocks: [Block] = []
    /// Without the marks before them.
    package private(set) var headings: [String] = []
    /// The rows of tables, without their heads, as cells.
    package private(set) var rows: [[String]] = []

    package init(_ path: String) throws {
        var fence: (kind: String, line: Int)?
        var lines: [Substring] = []
        var rowsOfTable = 0
        let text = try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in text.enumerated() {
            if line.hasPrefix("```") {
                if let (kind, start) = fence {
                    blocks.append(Block(kind: kind, text: lines.joined(separator: "\n") + "\n", line: start))
                    fence = nil
                } else {
                    (fence, lines) = ((String(line.dropFirst(3)), index + 1), [])
                }
            } else if fence != nil {
                lines.append(line)
            } else if line.hasPrefix("#") {
                headings.append(String(line.drop { $0 == "#" }.dropFirst()))
            }
            rowsOfTable = fence == nil && line.hasPrefix("|") ? rowsOfTable + 1 : 0
            if rowsOfTable > 2 {
                rows.append(line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) })
            }
        }
    }

    package func blocks(_ kind: String) -> [Block] { blocks.filter { $0.kind == kind } }
}

extension MarkdownPage {
    /// The blocks of Swift that do not stand, line by line, in the test file at `path`, which compiles what it holds.
    package func swiftBlocks(missingIn path: String) throws -> [String] {
        let tests = Self.trimmedLines(try String(contentsOfFile: path, encoding: .utf8))
        return blocks("swift").map(\.text).filter { text in
            let block = Self.trimmedLines(text)
            return !tests.indices.contains { tests[$0...].starts(with: block) }
        }
    }

    private static func trimmedLines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
            !$0.isEmpty
        }
    }
}
