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
        "is no utf-8": "is not UTF-8",
        "is no http": "is not HTTP",
        "is no socket": "is not a socket",
        "is no pattern": "is not a pattern",
        "is no address of": "is not an address of",
        "came about with": "failed with",
        "at most so many commits": "at most this many commits",
        "so many minutes": "this many minutes",
        "nothing comes out differently": "no differences",
        "is no type name": "is not a type name",
        "is no string": "is not a string",
        "is no declared": "is not a declared",
        "is nothing to be": "is not a",
        "did not come to exist": "was not created",
        "is given twice": "duplicate key `x`",
        "a second time:": "duplicate",
        "is spoken here": "is supported",
        "somebody answers": "another program answers",
        "who listens there": "the program that listens there",
        "sets no limit": "is not of the form NAME=VALUE",
        "larger than any": "too large",
        "longer than any": "too long",
        "for the usual one": "for the default",
        "by carrying them out": "by replaying them",
        "what it should be; with": "damaged; with",
        "not both and not neither": "either x or y",
        "stands where none may": "unexpected character",
        "“": "`x`, as everywhere else",
    ]

    private static func files() -> [String] {
        let root = Repository.root.path
        var paths = ["README.md"]
        for folder in [".github", "Sources", "Tests/Bench", "deploy", "config"] {
            let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects as? [String]
            paths += (names ?? []).map { "\(folder)/\($0)" }
        }
        return paths.filter { !$0.contains("/node_modules/") }.sorted()
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

    /// What a message names stands in backquotes; in others stands only what is to be written so. SQL has quotes of its own, and
    /// so have shells.
    @Test func namesInMessagesStandInBackquotes() throws {
        let files = try #require(TidyTests.sources["Sources"]).get().filter { $0.target != "BusLog" }
        #expect(files.count > 400)
        for file in files {
            for line in file.lines
            where line.contains(/'\\#?\(/) && !line.contains("write '") && !line.contains("as in: fluxbus ") {
                Issue.record("\(file.name): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
    }
}
