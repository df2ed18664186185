import BusDefinitions
import BusSource
import TestFiles
import Testing
import TypeTesting

/// Types in `Interplay` that use the words of the language together, each with tests of its own.
struct InterplayTests {
    @Test func allTestsHold() throws {
        let folder = Repository.root.appendingPathComponent("Tests/Daemon/TypeTestingTests/Interplay").path
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: folder, &errors)
        let suite = TypeTestSuite(catalog, in: folder, &errors)
        #expect(errors == [])
        #expect(suite.tests.count >= 80)
        for test in suite.tests { #expect(suite.run(test) == [], "\(test.type): \(test.name)") }
    }
}
