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
        let page = try MarkdownPage("Sources/Client/Flux/Flux.docc/\(article).md")
        #expect(!page.blocks("swift").isEmpty)
        #expect(try page.swiftBlocks(missingIn: here.appendingPathComponent("\(file).swift").path) == [])
    }
}
