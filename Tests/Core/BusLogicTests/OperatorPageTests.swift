import BusJSON
import BusLogic
import Foundation
import TestFiles
import Testing

/// The page about operators: every example on it gives what it says, and no operator is without one.
struct OperatorPageTests {
    private struct Section {
        /// The operators in the heading, each between backticks.
        let operators: [String]
        var examples: [JSON] = []
    }

    private let sections: [Section]

    init() throws {
        let text = try Repository.text("Sources/Core/BusLogic/BusLogic.docc/Operators.md")
        var sections: [Section] = []
        var isExample = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isExample = line == "```json"
            } else if isExample {
                let example = try JSON(parsing: String(line))
                try #require(!sections.isEmpty, "\(line) stands above all operators")
                sections[sections.count - 1].examples.append(example)
            } else if line.hasPrefix("### ") {
                let parts = line.split(separator: "`", omittingEmptySubsequences: false)
                let names = parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map {
                    String($0.element)
                }
                sections.append(Section(operators: names))
            }
        }
        self.sections = sections
    }

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
        let own = sections.filter { $0.operators.contains(name) }
        #expect(own.count == 1, "\(name) stands in the heading of \(own.count) sections")
        let isShown = own.flatMap(\.examples).contains { Self.uses(name, $0["rule"] ?? .null) }
        #expect(isShown, "\(name) has no example in its section")
    }

    @Test func everyHeadingNamesOperators() {
        for section in sections {
            #expect(!section.operators.isEmpty && section.operators.allSatisfy(Expression.operators.contains))
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
