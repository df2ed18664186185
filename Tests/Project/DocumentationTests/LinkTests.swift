import Foundation
import TestFiles
import Testing

/// Links between the documents of the repository lead somewhere, and the first of them stays short.
@Suite struct LinkTests {
    /// The README and everything beside the code that is Markdown.
    static func documents() throws -> [String] {
        let root = Repository.root.path
        var paths = ["README.md"]
        for folder in [".github", "Sources"] {
            let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects as? [String]
            paths += (names ?? []).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        return paths.sorted()
    }

    /// Without code, in which brackets mean something else.
    private static func prose(_ text: String) -> String {
        text.replacing(/```(?:.|\n)*?\n```/, with: "").replacing(/`[^`\n]*`/, with: "")
    }

    /// A heading as links name it, by the rules of DocC and, in lower case, of those who show Markdown.
    private static func anchors(_ page: MarkdownPage) -> Set<String> {
        Set(
            page.headings.flatMap { heading in
                let words = heading.filter { !"`?!.,:;()".contains($0) }.replacing(" ", with: "-")
                return [words, words.lowercased()]
            })
    }

    @Test func everyLinkLeadsToAFileAndAHeading() throws {
        var followed = 0
        for path in try Self.documents() {
            let folder = Repository.root.appendingPathComponent(path).deletingLastPathComponent()
            for match in Self.prose(try Repository.text(path)).matches(of: /\]\(([^)\s]+)\)/) {
                let target = String(match.1)
                if target.contains(/^[a-z]+:/) { continue }
                followed += 1
                let parts = target.split(separator: "#", omittingEmptySubsequences: false)
                let file =
                    parts[0].isEmpty
                    ? Repository.root.appendingPathComponent(path)
                    : folder.appendingPathComponent(String(parts[0])).standardizedFileURL
                #expect(FileManager.default.fileExists(atPath: file.path), "\(path): \(target)")
                if parts.count > 1, file.path.hasSuffix(".md") {
                    let page = try MarkdownPage(
                        String(file.path.dropFirst(Repository.root.standardizedFileURL.path.count + 1)))
                    #expect(Self.anchors(page).contains(String(parts[1])), "\(path): \(target)")
                }
            }
        }
        #expect(followed > 50)
    }

    /// Whoever comes for the first time reads it whole: what it is, when not to use it, and a first change.
    @Test func readmeIsShort() throws {
        let text = try Repository.text("README.md")
        #expect(text.utf8.count <= 12_000)
        let headings = try MarkdownPage("README.md").headings
        for (one, next) in [
            ("In a minute", "When not to use it"), ("When not to use it", "Install"),
            ("Install", "A state type"), ("A state type", "Everyday tasks"),
            ("Everyday tasks", "What is guaranteed"), ("What is guaranteed", "What it costs"),
            ("What it costs", "Further reading"),
        ] {
            let places = [headings.firstIndex(of: one), headings.firstIndex(of: next)].compactMap { $0 }
            #expect(places.count == 2 && places[0] < places[1], "\(one) stands before \(next)")
        }
    }
}
