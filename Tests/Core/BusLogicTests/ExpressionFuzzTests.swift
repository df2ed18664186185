import BusJSON
import BusLogic
import BusSource
import TestSupport
import Testing

/// Whatever an expression of all operators says, it is refused, or it ends with a value or an error, always the same.
struct ExpressionFuzzTests {
    private let words: [JSON] = [
        "", ",", "a", "ab,ba", "5m", "index", "current", "accumulator", "type", "descending", "date", 0, 1, 2,
        -1,
        2.5, 1e300, .int(.max), .int(.min), true, .null,
    ]

    @Test(arguments: 0..<8 as Range<UInt64>)
    func randomExpressionsEndAlike(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var values = 0
        var failures: Set<String> = []
        for _ in 0..<20_000 {
            let rule = expression(depth: 4, &generator)
            let data = randomJSON(using: &generator, depth: 3)
            guard let compiled = try? Expression.compile(rule) else { continue }
            let budget = Budget(operations: 2_000, bytes: 1 << 14)
            let first = Result { () throws(EvaluationFailure) in
                try compiled.evaluate(on: data, budget: budget)
            }
            let second = Result { () throws(EvaluationFailure) in
                try compiled.evaluate(on: data, budget: budget)
            }
            #expect(first == second, "\(rule) on \(data)")
            switch first {
            case .success(let value):
                values += 1
                let again = try JSON(parsing: value.encoded, depthLimit: 200)
                #expect(again == value, "\(rule) on \(data)")
            case .failure(let failure):
                failures.insert(failure.type ?? "budget")
                #expect(!failure.description.isEmpty)
            }
        }
        #expect(values > 1000)
        #expect(failures.isSuperset(of: ["NaN", "Invalid Arguments", "Overflow"]))
    }

    private func expression(depth: Int, _ generator: inout SeededGenerator) -> JSON {
        if depth == 0 || generator.oneIn(6) { return words.randomElement(using: &generator) ?? .null }
        if generator.oneIn(6) { return ["var": generator.oneIn(2) ? "" : "current"] }
        if generator.oneIn(8) {
            let climb = JSON.array([.int(Int.random(in: 0...4, using: &generator))])
            return ["val": .array([climb] + (generator.oneIn(2) ? [] : ["index"]))]
        }
        if generator.oneIn(8) { return .array(operands(depth: depth, &generator)) }
        let name = Expression.operators.randomElement(using: &generator) ?? "var"
        if generator.oneIn(4) { return .object([name: expression(depth: depth - 1, &generator)]) }
        return .object([name: .array(operands(depth: depth, &generator))])
    }

    private func operands(depth: Int, _ generator: inout SeededGenerator) -> [JSON] {
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in expression(depth: depth - 1, &generator) }
    }
}
