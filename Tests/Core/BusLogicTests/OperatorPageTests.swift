import BusJSON
import BusLogic
import Foundation
import TestFiles
import Testing

/// The page about operators: every example on it gives what it says, and no operator is without one.
struct OperatorPageTests {
    private let sections: [PageSection]

    init() throws { sections = try PageSection.all(of: "Operators.md") }

    @Test func everyExampleGivesWhatItSays() throws {
        var count = 0
        for example in sections.flatMap(\.examples) {
            count += 1
            let keys = Set(try #require(example.object).keys)
            #expect(keys.isSubset(of: ["rule", "data", "result", "error"]), "\(example)")
            let rule = try #require(example["rule"])
            let expression = try Expression.compile(rule)
            do {
                let value = try expression.evaluate(on: example["data"] ?? .null)
                let result = try #require(example["result"], "\(rule) fails no more")
                // Written out, so that 1 and 1.0 differ.
                #expect(value.encoded == result.encoded, "\(rule)")
            } catch let failure as EvaluationFailure {
                #expect(failure.type == example["error"]?["type"]?.string, "\(rule): \(failure)")
            }
        }
        #expect(count > 100)
    }

    @Test(arguments: Expression.operators)
    func everyOperatorHasASectionWithAnExample(_ name: String) throws {
        let own = sections.filter { $0.names.contains(name) }
        #expect(own.count == 1, "\(name) stands in the heading of \(own.count) sections")
        let isShown = own.flatMap(\.examples).contains { Self.uses(name, $0["rule"] ?? .null) }
        #expect(isShown, "\(name) has no example in its section")
    }

    @Test func everyHeadingNamesOperators() {
        for section in sections {
            #expect(!section.names.isEmpty && section.names.allSatisfy(Expression.operators.contains))
        }
    }

    private static func uses(_ name: String, _ rule: JSON) -> Bool {
        switch rule {
        case .array(let elements): elements.contains { uses(name, $0) }
        case .object(let object):
            object.keys == [name] || object.members.contains { uses(name, $0.value) }
        default: false
        }
    }
}
