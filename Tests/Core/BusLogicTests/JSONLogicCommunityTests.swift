import BusJSON
import BusLogic
import BusSource
import BusYAML
import Foundation
import TestFiles
import Testing

/// The suite of the JsonLogic community group: files with cases of a rule, data, and a result or an error.
struct JSONLogicCommunityTests {
    /// The suite is no part of this package. It is looked for beside it, or where the environment says.
    private static let folder =
        ProcessInfo.processInfo.environment["FLUXBUS_JSONLOGIC_SUITES"]
        ?? Repository.root.appending(path: "../shared/data/json-logic-suites").standardized.path

    private static let isThere = FileManager.default.fileExists(atPath: folder + "/index.json")

    /// Cases that contradict what the bus promises, by file and rule, each with the reason.
    private static let exceptions: [(file: String, rule: String, reason: String)] = [
        (
            "comparison/softEquals.json", #"{"==":[[],[1]]}"#,
            "equality of arrays is deep on the bus, so these two are different and no error"
        ),
        (
            "comparison/softNotEquals.json", #"{"!=":[[],[1]]}"#,
            "equality of arrays is deep on the bus, so these two are different and no error"
        ),
    ]

    private struct Case {
        let file: String
        let rule: JSON
        let data: JSON
        let result: JSON?
        let errorType: JSON?

        init?(_ json: JSON, file: String) throws {
            // Between the cases stand comments.
            if json.string != nil { return nil }
            self.file = file
            rule = try #require(json["rule"])
            data = json["data"] ?? .null
            result = json["result"]
            errorType = json["error"]?["type"]
            try #require((result == nil) != (errorType == nil), "\(file): \(rule) expects nothing")
        }

        /// What is wrong with the case's outcome; nil when it is as expected.
        func complaint() throws -> String? {
            do {
                let value = try Expression.compile(rule).evaluate(on: data)
                guard let result else { return "gives \(value) and no error" }
                return asDoubles(value) == asDoubles(result) ? nil : "gives \(value) instead of \(result)"
            } catch let failure as EvaluationFailure {
                let type = failure.type.map { JSON.string($0) }
                return type != nil && type == errorType ? nil : "fails because \(failure)"
            } catch let error as SourceError {
                // What can be seen to fail is refused before there is data.
                let isExpected = errorType?.string.map { error.message.hasSuffix("(\($0)).") } ?? false
                return isExpected ? nil : "is refused: \(error.message)"
            }
        }
    }

    @Test(.enabled(if: isThere, "Set FLUXBUS_JSONLOGIC_SUITES to the community's folder of suites."))
    func everyCaseGivesItsResultOrItsError() throws {
        var count = 0
        var passed = 0
        var excepted = 0
        for case let file? in try Self.json("index.json").array?.map(\.string) ?? [] {
            for element in try #require(Self.json(file).array) {
                guard let test = try Case(element, file: file) else { continue }
                let complaint = try test.complaint()
                count += 1
                let exception = Self.exceptions.first {
                    $0.file == test.file && $0.rule == test.rule.encoded
                }
                if let exception {
                    excepted += 1
                    #expect(complaint != nil, "\(file): \(test.rule) passes, though \(exception.reason)")
                } else {
                    passed += complaint == nil ? 1 : 0
                    #expect(complaint == nil, "\(file): \(test.rule) on \(test.data) \(complaint ?? "")")
                }
            }
        }
        print("\(passed) of \(count) cases of the JsonLogic community's suite pass.")
        #expect(excepted == Self.exceptions.count)
        #expect(count >= 1138)
    }

    private static func json(_ file: String) throws -> JSON {
        try JSON(parsing: FileReading.bytes(of: "\(folder)/\(file)"))
    }
}

/// The suites know one kind of number.
private func asDoubles(_ value: JSON) -> JSON {
    switch value {
    case .int(let number): .double(Double(number))
    case .double(let number): .double(number + 0)
    case .array(let elements): .array(elements.map(asDoubles))
    case .object(let object):
        .object(
            JSONObject(sorted: object.members.map { .init(key: $0.key, value: asDoubles($0.value)) }))
    default: value
    }
}
