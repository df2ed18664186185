import BusJSON
import BusLogic
import BusYAML
import Foundation
import TestFiles
import Testing

/// The shared test suite of JsonLogic implementations: arrays of [rule, data, result] between comments.
struct JSONLogicSuiteTests {
    /// The suite is no part of this package. It is looked for beside it, or where the environment says.
    private static let path =
        ProcessInfo.processInfo.environment["FLUXBUS_JSONLOGIC_TESTS"]
        ?? Repository.root.appending(path: "../shared/data/jsonlogic-tests.json").standardized.path

    private static let isThere = FileManager.default.fileExists(atPath: path)

    @Test(.enabled(if: isThere, "Set FLUXBUS_JSONLOGIC_TESTS to the JsonLogic suite, a JSON file."))
    func everyCaseOfTheSharedSuiteGivesItsResult() throws {
        let suite = try JSON(parsing: FileReading.bytes(of: Self.path))
        var count = 0
        for entry in try #require(suite.array) {
            guard let test = entry.array else { continue }
            try #require(test.count == 3)
            count += 1
            let result = try Expression.compile(test[0]).evaluate(on: test[1])
            // The suite knows one kind of number.
            #expect(Self.asDoubles(result) == Self.asDoubles(test[2]), "\(test[0]) on \(test[1])")
        }
        #expect(count == 277)
    }

    private static func asDoubles(_ value: JSON) -> JSON {
        switch value {
        case .int(let number): .double(Double(number))
        case .array(let elements): .array(elements.map(asDoubles))
        default: value
        }
    }
}
