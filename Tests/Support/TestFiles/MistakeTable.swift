import Foundation

/// A table of mistakes that people make who write types or effects, each in a file of its own with all that is said about it.
package enum MistakeTable {
    package static let path = "Tests/Daemon/TypeTestingTests/Table/mistakes.txt"

    package struct Mistake: Sendable {
        package let title: String
        /// Whether the JSON Schema of the file sees it.
        package let isSchemas: Bool
        package let text: String
        /// `LINE:COLUMN: message`, in the order of their places.
        package let messages: [String]

        /// As the table has it, with these messages.
        package func entry(_ messages: [String]) -> String {
            "== \(title)\(isSchemas ? MistakeTable.mark : "")\n\(text)--\n"
                + messages.map { $0 + "\n" }.joined()
        }
    }

    private static let mark = " (schema)"

    package static func read(_ path: String = path) throws -> [Mistake] {
        try Repository.text(path).split(separator: "\n== ").map { part in
            let ends = part.firstRange(of: "\n--\n") ?? part.endIndex..<part.endIndex
            let lines = part[..<ends.lowerBound].trimmingPrefix("== ").split(separator: "\n", maxSplits: 1)
            return Mistake(
                title: String(lines[0].replacing(mark, with: "")), isSchemas: lines[0].hasSuffix(mark),
                text: lines.count > 1 ? lines[1] + "\n" : "",
                messages: part[ends.upperBound...].split(separator: "\n").map(String.init))
        }
    }

    /// The titles of mistakes of which other things are said than the table has. `FLUXBUS_RECORD_MISTAKES=1` writes what is said now;
    /// read what has changed.
    ///
    /// - Parameter judge: What is said of a file, `LINE:COLUMN: message`.
    package static func differences(_ path: String, judge: (String) throws -> [String]) throws -> [String] {
        var (recorded, titles): ([String], [String]) = ([], [])
        for mistake in try read(path) {
            let messages = try judge(mistake.text)
            recorded.append(mistake.entry(messages))
            if messages != mistake.messages { titles.append(mistake.title) }
        }
        if ProcessInfo.processInfo.environment["FLUXBUS_RECORD_MISTAKES"] == "1" {
            let file = Repository.root.appendingPathComponent(path)
            try recorded.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        }
        return titles
    }
}
