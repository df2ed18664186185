import BusJSON
import BusLogic
import BusSource
import Foundation
import TestFiles
import Testing

/// The page about expressions in text: every example on it gives what it says, and no function is without one.
struct ExpressionPageTests {
    private let sections: [PageSection]

    init() throws { sections = try PageSection.all(of: "Expressions.md") }

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
