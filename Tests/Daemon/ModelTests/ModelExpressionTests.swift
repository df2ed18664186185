import BusJSON
import Foundation
import TestFiles
import Testing

/// The model evaluates the examples of the page about operators to what stands there, as far as it knows the operators.
@Suite struct ModelExpressionTests {
    @Test func modelAgreesWithThePage() throws {
        let page = try String(
            contentsOf: Repository.root.appendingPathComponent(
                "Sources/Core/BusLogic/BusLogic.docc/Operators.md"), encoding: .utf8)
        var known = 0
        for line in page.split(separator: "\n") where line.hasPrefix(#"{"rule":"#) {
            let example = try JSON(parsing: String(line))
            guard let result = ModelExpression.example(example) else { continue }
            known += 1
            #expect(result == example["result"] || result == example["error"], "\(line)")
        }
        #expect(known > 80)
    }
}

extension ModelExpression {
    /// What an example gives: its result or its error; nil where it has an operator that the model does not know.
    static func example(_ example: JSON) -> JSON? {
        let rule = example["rule"] ?? .null
        do {
            return try evaluate(rule, on: example["data"] ?? .null)
        } catch let error as ModelError {
            return error.isIgnorance ? nil : ["type": .string(error.type)]
        } catch {
            return nil
        }
    }
}
