import BusJSON
import BusLogic
import BusSource
import Foundation
import TestFiles
import Testing

/// The page about expressions in text: every example on it gives what it says, and no function is without one.
struct ExpressionPageTests {
    private struct Section {
        /// What stands in the heading between backticks.
        let names: [String]
        var examples: [JSON] = []
    }

    private let sections: [Section]

    init() throws {
        let text = try Repository.text("Sources/Core/BusLogic/BusLogic.docc/Expressions.md")
        var sections: [Section] = []
        var isExample = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isExample = line == "```json"
            } else if isExample {
                try #require(!sections.isEmpty, "\(line) stands above all sections")
                sections[sections.count - 1].examples.append(try JSON(parsing: String(line)))
            } else if line.hasPrefix("### ") {
                let parts = line.split(separator: "`", omittingEmptySubsequences: false)
                let names = parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map {
                    String($0.element)
                }
                sections.append(Section(names: names))
            }
        }
        self.sections = sections
    }

    @Test func everyExampleGivesWhatItSays() throws {
        var count = 0
        for example in sections.flatMap(\.examples) {
            count += 1
            let keys = Set(try #require(example.object).keys)
            #expect(keys.isSubset(of: ["expression", "data", "result", "error"]), "\(example)")
            let text = try #require(example["expression"]?.string)
            var problem: String?
            do {
                let expression = try Expression.compile(text: text, names: .members)
                let value = try expression.evaluate(on: example["data"] ?? .null)
                // Written out, so that 1 and 1.0 differ.
                #expect(value.encoded == example["result"]?.encoded, "\(text)")
            } catch let failure as EvaluationFailure {
                problem = "\(failure)"
            } catch let error as SourceError {
                problem = error.message.firstRange(of: ": ").map { String(error.message[$0.upperBound...]) }
            }
            #expect(problem == example["error"]?.string, "\(text)")
        }
        #expect(count > 100)
    }

    @Test(arguments: Expression.functions)
    func everyFunctionHasASectionWithAnExample(_ name: String) {
        let own = sections.filter { $0.names.contains(name) }
        #expect(own.count == 1, "\(name) stands in the heading of \(own.count) sections")
        let isShown = own.flatMap(\.examples).contains {
            $0["expression"]?.string?.contains(name + "(") == true
        }
        #expect(isShown, "\(name) has no example in its section")
    }
}
