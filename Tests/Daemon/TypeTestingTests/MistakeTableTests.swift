import BusDefinitions
import BusSource
import Foundation
import TestFiles
import Testing
import TypeTesting

/// The table of mistakes that people make who write types: each with all that is said about it.
struct MistakeTableTests {
    /// All that is said about a file.
    private func found(in text: String) throws -> [SourceError] {
        let directory = TemporaryDirectory()
        try directory.write("lamp.yaml", text)
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: directory.path, &errors)
        if errors.isEmpty { _ = TypeTestSuite(catalog, in: directory.path, &errors) }
        return errors
    }

    /// `FLUXBUS_RECORD_MISTAKES=1` writes what is said now; read what has changed.
    @Test func everyMistakeIsToldAsTheTableSays() throws {
        let mistakes = try MistakeTable.read()
        #expect(mistakes.count >= 130)
        #expect(Set(mistakes.map(\.title)).count == mistakes.count)
        var recorded: [String] = []
        for mistake in mistakes {
            let found = try found(in: mistake.text)
            #expect(!found.isEmpty, "\(mistake.title)")
            for error in found {
                #expect(
                    error.line > 0 && error.column > 0 && ".?".contains(error.message.last ?? " "), "\(error)"
                )
            }
            let messages = found.map { "\($0.line):\($0.column): \($0.message)" }
            recorded.append(mistake.entry(messages))
            #expect(messages == mistake.messages, "\(mistake.title)")
        }
        if ProcessInfo.processInfo.environment["FLUXBUS_RECORD_MISTAKES"] == "1" {
            let file = Repository.root.appendingPathComponent(MistakeTable.path)
            try recorded.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        }
    }
}
