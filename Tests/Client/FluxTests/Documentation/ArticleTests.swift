import Foundation
import TestFiles
import Testing

/// Every block of Swift in an article stands, line by line, in its test file, which compiles and runs it.
@Suite struct ArticleTests {
    @Test(arguments: [
        ("Flux", "LandingPageTests"), ("MovingToFlux", "MovingToFluxTests"),
        ("GettingStarted", "GettingStartedTests"), ("WorkThatTakesTime", "EffectsArticleTests"),
        ("Composing", "ComposingTests"), ("FirstExamples", "FirstExamplesTests"),
        ("UserInterfaces", "UserInterfacesTests"),
    ])
    func codeOfArticlesIsCompiled(article: String, tests file: String) throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let text = try Repository.text("Sources/Client/Flux/Flux.docc/\(article).md")
        let tests = try lines(
            String(contentsOf: here.appendingPathComponent("\(file).swift"), encoding: .utf8))
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map {
            lines($0.components(separatedBy: "\n```")[0])
        }
        #expect(!blocks.isEmpty)
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
