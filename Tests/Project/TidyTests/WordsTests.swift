import Foundation
import TestFiles
import Testing

/// Phrases that nobody expects from a program stay out of what people read: messages, help, units, pages.
@Suite struct WordsTests {
    /// Each with what to write. Lower case; words are separated by one space.
    private static let phrases = [
        "all is right": "configuration OK",
        "is no member of": "unknown key `x` in y",
        "stands here twice": "duplicate key `x`",
        "going on behind": "continuing after",
        "go on behind": "continue after",
        "carried out again": "replayed",
        "carry out again": "replay",
        "carry out the whole": "replay the whole",
        "carries out everything": "replays everything",
        "was not carried out": "was not committed",
        "did not come about": "failed",
        "does not hear of this": "can't be notified",
        "are not taken;": "are not supported;",
        "looked through, and": "verified, and",
        "unforeseen": "unexpected",
        "is no operator": "is not an operator",
        "an end in order": "a clean shutdown",
        "not end in order": "no clean shutdown",
        "is no way to": "invalid value `x` for `y`",
        "is not valid for": "invalid value `x` for `y`",
        "divided by spaces": "comma-separated",
        "divided by commas": "comma-separated",
        "spaces or commas": "comma-separated",
        "is no json": "is not JSON",
        "is no kind of": "is not a kind of",
        "once only": "only once",
    ]

    /// The client libraries, the browser's page and the state machine have words of their own; the page on clients repeats the
    /// scenarios of the conformance suite.
    private static let others = [
        "Sources/Clients/", "Sources/Web/", "Sources/Core/BusMachine/",
        "Sources/Core/BusProtocol/BusProtocol.docc/WriteAClient.md",
    ]

    private static func files() -> [String] {
        let root = Repository.root.path
        var paths = ["README.md"]
        for folder in [".github", "Sources", "deploy", "config"] {
            let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects as? [String]
            paths += (names ?? []).map { "\(folder)/\($0)" }
        }
        return paths.filter { path in !others.contains { path.hasPrefix($0) } }.sorted()
    }

    /// What people read of a file, in one line: of code all but comments.
    private static func readable(_ text: String, of path: String) -> String {
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let isCode = path.hasSuffix(".swift")
        return lines.filter { !isCode || !$0.hasPrefix("//") }.joined(separator: " ").lowercased()
    }

    @Test func oddPhrasesStayOut() throws {
        var read = 0
        for path in Self.files() {
            guard let text = try? Repository.text(path) else { continue }
            read += 1
            let words = NSString(string: Self.readable(text, of: path))
            for (phrase, better) in Self.phrases {
                let place = words.range(of: phrase, options: .literal)
                guard place.location != NSNotFound else { continue }
                let start = max(0, place.location - 40)
                let shown = words.substring(
                    with: NSRange(location: start, length: min(words.length - start, place.length + 80)))
                Issue.record("\(path): “\(shown)”; write “\(better)” instead of “\(phrase)”.")
            }
        }
        #expect(read > 600)
    }
}
