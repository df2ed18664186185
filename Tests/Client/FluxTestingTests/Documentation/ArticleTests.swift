import Foundation
import TestFiles
import Testing

/// Every block of Swift in the article stands, line by line, in the file that compiles and runs it.
@Suite struct ArticleTests {
    @Test func codeOfTheArticleIsCompiled() throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let article = try Repository.text("Sources/Client/FluxTesting/FluxTesting.docc/Testing.md")
        let tests = try lines(
            String(contentsOf: here.appendingPathComponent("TestingTests.swift"), encoding: .utf8))
        let blocks = article.components(separatedBy: "```swift\n").dropFirst().map {
            lines($0.components(separatedBy: "\n```")[0])
        }
        #expect(blocks.count > 8)
        for block in blocks {
            let isThere = tests.indices.contains { tests[$0...].starts(with: block) }
            #expect(isThere, "No test compiles:\n\(block.joined(separator: "\n"))")
        }
    }

    private func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
            !$0.isEmpty
        }
    }
}
