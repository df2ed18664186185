import Foundation
import TestFiles
import Testing

/// Every block of Swift in the article stands, line by line, in the file that compiles and runs it.
@Suite struct ArticleTests {
    @Test func codeOfTheArticleIsCompiled() throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let page = try MarkdownPage("Sources/Client/FluxTesting/FluxTesting.docc/Testing.md")
        #expect(page.blocks("swift").count > 8)
        #expect(try page.swiftBlocks(missingIn: here.appendingPathComponent("TestingTests.swift").path) == [])
    }
}
