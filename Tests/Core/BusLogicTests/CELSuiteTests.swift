import BusJSON
import BusLogic
import BusSource
import BusYAML
import Foundation
import TestFiles
import Testing

/// The conformance cases of the Common Expression Language whose values JSON can say.
struct CELSuiteTests {
    /// The cases are no part of this package.
    private static let file = ProcessInfo.processInfo.environment["FLUXBUS_CEL_CASES"]

    /// The cases that the page about operators names, because the bus does otherwise.
    private static func exceptions() throws -> Set<String> {
        let page = try Repository.text("Sources/Core/BusLogic/BusLogic.docc/Operators.md")
        let lines = page.split(separator: "\n").map(String.init)
        return Set(lines.filter { $0.wholeMatch(of: /\w+\/\w+\/\w+/) != nil })
    }

    enum Way: CaseIterable { case alone, computed, action }

    private struct Case {
        let name: String
        let text: String
        let data: JSON
        let value: JSON?

        init(_ json: JSON) throws {
            name = ["file", "section", "name"].map { json[$0]?.string ?? "" }.joined(separator: "/")
            text = try #require(json["expr"]?.string)
            data = .object(json["bindings"]?.object.map(Self.members) ?? [:])
            value = json["value"].map(Self.decoded)
            try #require((value == nil) == (json["error"] != nil), "\(name) expects nothing")
        }

        /// A value as the file writes it: a map stands in an object, and so does a double that is whole.
        private static func decoded(_ json: JSON) -> JSON {
            switch json {
            case .array(let elements): .array(elements.map(decoded))
            case .object(let object):
                object["map"]?.object.map { .object(members($0)) } ?? object["double"].map {
                    .double($0.double ?? 0)
                }
                    ?? json
            default: json
            }
        }

        private static func members(_ object: JSONObject) -> JSONObject {
            JSONObject(sorted: object.members.map { .init(key: $0.key, value: decoded($0.value)) })
        }

        /// The value in one of the ways that an expression is evaluated; throws where it is refused or fails.
        private func found(_ way: Way) throws -> JSON {
            switch way {
            case .alone: return try Expression.compile(text: text, names: .members).evaluate(on: data)
            case .computed:
                let state = try bench(["computed": ["found": .string("= \(text)")], "initial": data]).state
                guard let found = state["found"], found != .null || value == .null else {
                    throw EvaluationFailure.failed("it is null")
                }
                return found
            case .action:
                var initial = try #require(data.object)
                let names = initial.keys.filter { $0 != "false" && !$0.contains(".") }
                let text = names.reduce(text) { "cel.bind(\($1), state.\($1), \($0))" }
                initial["found"] = .null
                let set: JSON = ["act": ["set": ["found": .string("= \(text)")]]]
                let bench = try bench(["actions": set, "initial": .object(initial)])
                try bench.dispatch("act")
                return try #require(bench.state["found"])
            }
        }

        private func bench(_ definition: JSONObject) throws -> StoreBench {
            var definition = definition
            definition["type"] = "t"
            return StoreBench(try DeclaredType(LocatedValue(.object(definition), name: "t.json")))
        }

        /// What is wrong with the case's outcome; nil when it is as expected.
        func complaint(_ way: Way) -> String? {
            do {
                let found = try found(way)
                guard let value else { return "gives \(found) and no error" }
                return found == value ? nil : "gives \(found) instead of \(value)"
            } catch {
                return value == nil ? nil : "fails: \(error)"
            }
        }
    }

    @Test(
        .enabled(if: file != nil, "Set FLUXBUS_CEL_CASES to the file of conformance cases."),
        arguments: Way.allCases)
    func everyCaseGivesItsValueOrFails(_ way: Way) throws {
        let excepted = try Self.exceptions()
        let file = try #require(Self.file)
        let cases = try #require(JSON(parsing: FileReading.bytes(of: file)).array).map { try Case($0) }
        var passed = 0
        for test in cases {
            let complaint = test.complaint(way)
            passed += complaint == nil ? 1 : 0
            if excepted.contains(test.name) {
                #expect(complaint != nil, "\(test.name) passes and is no exception any more")
            } else {
                #expect(complaint == nil, "\(test.name): \(test.text) \(complaint ?? "")")
            }
        }
        #expect(excepted.isSubset(of: cases.map(\.name)))
        print("\(passed) of \(cases.count) cases of the Common Expression Language pass: \(way).")
        #expect(passed * 100 >= 95 * cases.count)
    }
}
