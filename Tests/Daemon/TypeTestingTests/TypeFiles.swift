import BusDefinitions
import BusSource
import Testing
import TypeTesting

/// Runs the tests that files of types have; gives what is wrong with the files, or what does not hold.
func failures(_ texts: String...) throws -> [String] { try failures(texts) }

func failures(_ texts: [String]) throws -> [String] {
    var errors: [SourceError] = []
    let files = texts.enumerated().map { TypeCatalog.File(name: "\($0).yaml", bytes: Array($1.utf8)) }
    let suite = TypeTestSuite(try TypeCatalog(files), in: nil, &errors)
    guard errors.isEmpty else { return errors.map(\.description) }
    #expect(!suite.tests.isEmpty)
    return suite.tests.flatMap(suite.run).map(\.description)
}
