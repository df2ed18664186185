import BusJSON
import BusLogic
import TestSupport
import Testing

/// Whatever operators and functions are given, they have a value or fail: the ends of the integers, doubles that are no numbers
/// or infinite, and everything empty included.
struct EveryOperandTests {
    /// What JSON can hold, which is all that JsonLogic is given.
    private static let finite: [JSON] = [
        0, 1, -1, .int(.max), .int(.min), 0.5, .double(-0x1p63), "", "a", "ä,b", "9223372036854775807", [],
        ["a", ""], [:], ["a": .null, "b": ["c": .null]], true, .null,
    ]
    private static let values: [JSON] =
        [.double(.nan), .double(.infinity), [1, .double(.nan)], [.double(.nan), 2, "b", 1.5]] + finite
    private static let names = ["a", "b", "c", "d"]
    private static let budget = Budget(operations: 10_000, bytes: 1 << 16, reading: 1 << 16)

    /// Evaluates an expression about the first members for all their values, of four for some, and returns how often it had one.
    private func evaluate(_ expression: Expression, about count: Int, of values: [JSON] = Self.values) -> Int
    {
        let values = count < 4 ? values[...] : values.prefix(13)
        var (places, succeeded) = (Array(repeating: 0, count: count), 0)
        while true {
            let members = zip(Self.names, places).map { ($0, values[$1]) }
            let data = JSON.object(members.reduce(into: JSONObject()) { $0[$1.0] = $1.1 })
            if (try? expression.evaluate(on: data, budget: Self.budget)) != nil { succeeded += 1 }
            guard let next = places.indices.first(where: { places[$0] + 1 < values.count }) else {
                return succeeded
            }
            for place in 0..<next { places[place] = 0 }
            places[next] += 1
        }
    }

    @Test func everyFunctionTakesEveryOperand() {
        var callable: Set<String> = []
        for name in Expression.functions {
            for count in 1...4 {
                let given = Self.names.prefix(count)
                for text in [
                    "\(name)(\(given.joined(separator: ", ")))",
                    "a.\(name)(\(given.dropFirst().joined(separator: ", ")))",
                ] {
                    guard let expression = try? Expression.compile(text: text) else { continue }
                    if evaluate(expression, about: count) > 0 { callable.insert(name) }
                }
            }
        }
        // All but the macros, which take names.
        #expect(callable.count > 50, "\(callable.sorted())")
        #expect(callable.isSuperset(of: ["replace", "sort", "substring", "lists.range", "without"]))
    }

    @Test func everyOperatorTakesEveryOperand() throws {
        for name in Expression.operators {
            for count in 1...3 {
                let operands = Self.names.prefix(count).map { JSON.object(["var": .string($0)]) }
                guard let expression = try? Expression.compile([name: .array(operands)]) else { continue }
                _ = evaluate(expression, about: count, of: Self.finite)
            }
        }
        for symbol in ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||"] {
            #expect(evaluate(try Expression.compile(text: "a \(symbol) b"), about: 2) > 0)
        }
        #expect(evaluate(try Expression.compile(text: "a.sortBy(x, x)"), about: 1) > 0)
    }

    /// What `merge` takes away is paid for, though nothing comes out.
    @Test func mergePaysForWhatItTakesAway() throws {
        let nulls = (0..<10_000).reduce(into: JSONObject()) { $0["m\($1)"] = .null }
        let expression = try Expression.compile(text: "{}.merge({'x': a})")
        let budget = Budget(operations: 10_000, bytes: 1 << 20, reading: 1 << 16)
        #expect(throws: EvaluationFailure.reading) {
            try expression.evaluate(on: ["a": .object(nulls)], budget: budget)
        }
        #expect(try expression.evaluate(on: ["a": .object(nulls)]) == ["x": [:]])
    }

    /// It goes through the map once, and not once for each key.
    @Test(.timeLimit(.minutes(10))) func withoutTakesAwayManyKeysAtOnce() throws {
        let members = (0..<400_000).map { JSONObject.Member(key: String($0 + 1_000_000), value: 1) }
        let expression = try Expression.compile(text: "a.without(keys(a).slice(0, 399999))")
        let began = ThreadTime.now
        let left = try expression.evaluate(
            on: ["a": .object(JSONObject(sorted: members))],
            budget: Budget(operations: 2_000_000, bytes: 1 << 30))
        #expect(ThreadTime.now - began < .seconds(60))
        #expect(left == ["1399999": 1])
    }

    @Test func constantsThatShortTextsMakeAreCounted() throws {
        let ranges = Array(repeating: "lists.range(4096)", count: 10).joined(separator: ", ")
        #expect(try Expression.compile(text: "[\(ranges)] == []").constantBytes >= 10 * 4096 * 16)
        #expect(try Expression.compile(text: "mode in ['off', 'eco']").constantBytes < 500)
    }
}
