import BusJSON
import BusLogic
import TestSupport
import Testing

/// A rule in text and the same in JsonLogic give the same answer, whatever the state is, where both can say it.
struct TwoLanguageTests {
    /// What both languages say; JsonLogic takes other kinds of values for numbers and truth, so members have their kinds.
    private struct Rule {
        let text: String
        let logic: JSON
        /// Whether it needs brackets beside an operator.
        var isOpen = false

        var operand: String { isOpen ? "(\(text))" : text }
    }

    private var random: SeededGenerator

    init() { random = SeededGenerator(seed: 37) }

    private mutating func pick<Value>(_ values: Value...) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    private mutating func number(_ depth: Int) -> Rule {
        if depth == 0 || random.oneIn(3) {
            if random.oneIn(3) {
                let value = Int.random(in: -3...9, using: &random)
                return Rule(text: "\(value)", logic: .int(value))
            }
            let name = pick("state.i", "state.j", "state.map.x", "state.d")
            return Rule(text: name, logic: ["var": .string(name)])
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let list = list(depth - 1)
            return Rule(text: "size(\(list.text))", logic: ["length": [list.logic]])
        case 1:
            let (condition, one, other) = (condition(depth - 1), number(depth - 1), number(depth - 1))
            return Rule(
                text: "\(condition.operand) ? \(one.operand) : \(other.operand)",
                logic: ["if": [condition.logic, one.logic, other.logic]], isOpen: true)
        case 2:
            let (one, other) = (number(depth - 1), number(depth - 1))
            return Rule(
                text: "math.greatest(\(one.text), \(other.text))", logic: ["max": [one.logic, other.logic]])
        default:
            let (one, other) = (number(depth - 1), number(depth - 1))
            let symbol = pick("+", "-", "*")
            return Rule(
                text: "\(one.operand) \(symbol) \(other.operand)",
                logic: .object([symbol: [one.logic, other.logic]]), isOpen: true)
        }
    }

    private mutating func list(_ depth: Int) -> Rule {
        if depth == 0 || random.oneIn(2) { return Rule(text: "state.list", logic: ["var": "state.list"]) }
        let inner = list(depth - 1)
        let value = Int.random(in: -3...9, using: &random)
        return pick(
            Rule(
                text: "\(inner.text).filter(x, x > \(value))",
                logic: ["filter": [inner.logic, [">": [["var": ""], .int(value)]]]]),
            Rule(
                text: "\(inner.text).map(x, x * \(value))",
                logic: ["map": [inner.logic, ["*": [["var": ""], .int(value)]]]]),
            Rule(text: "\(inner.text).sort()", logic: ["sort": [inner.logic]]))
    }

    private mutating func condition(_ depth: Int) -> Rule {
        if depth == 0 { return Rule(text: "state.b", logic: ["var": "state.b"]) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let (one, other) = (condition(depth - 1), condition(depth - 1))
            return pick(
                Rule(
                    text: "\(one.operand) && \(other.operand)", logic: ["and": [one.logic, other.logic]],
                    isOpen: true),
                Rule(
                    text: "\(one.operand) || \(other.operand)", logic: ["or": [one.logic, other.logic]],
                    isOpen: true))
        case 1:
            let inner = condition(depth - 1)
            return Rule(text: "!\(inner.operand)", logic: ["!": [inner.logic]])
        case 2:
            let (inner, list) = (number(depth - 1), list(depth - 1))
            return Rule(
                text: "\(inner.operand) in \(list.text)", logic: ["in": [inner.logic, list.logic]],
                isOpen: true)
        case 3:
            let (list, value) = (list(depth - 1), Int.random(in: -3...9, using: &random))
            return pick(
                Rule(
                    text: "\(list.text).exists(x, x == \(value))",
                    logic: ["some": [list.logic, ["==": [["var": ""], .int(value)]]]]),
                Rule(
                    text: "!\(list.text).exists(x, x >= \(value))",
                    logic: ["none": [list.logic, [">=": [["var": ""], .int(value)]]]]))
        default:
            let (one, other) = (number(depth - 1), number(depth - 1))
            let symbol = pick("<", "<=", ">", ">=", "==", "!=")
            return Rule(
                text: "\(one.operand) \(symbol) \(other.operand)",
                logic: .object([symbol: [one.logic, other.logic]]), isOpen: true)
        }
    }

    private mutating func state() -> JSON {
        func number() -> JSON {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: .int(.max)
            case 1: .int(.min)
            case 2: .double(pick(1e308, -0.0, 0.1, 1e15))
            case 3...5: .double(Double(Int.random(in: -40...40, using: &random)) / 4)
            default: .int(Int.random(in: -3...9, using: &random))
            }
        }
        let list = (0..<Int.random(in: 0..<4, using: &random)).map { _ in number() }
        return [
            "state": [
                "i": number(), "j": number(), "d": number(), "b": .bool(random.oneIn(2)),
                "map": ["x": number()],
                "list": .array(list),
            ]
        ]
    }

    @Test mutating func bothGiveTheSameAnswer() throws {
        var (answers, failures) = (0, 0)
        for _ in 0..<2_500 {
            let depth = Int.random(in: 1...4, using: &random)
            let rule = random.oneIn(2) ? condition(depth) : number(depth)
            let text = try Expression.compile(text: rule.text, names: .members)
            let logic = try Expression.compile(rule.logic)
            for _ in 0..<40 {
                let state = state()
                let one = Result { () throws(EvaluationFailure) in try text.evaluate(on: state) }
                let other = Result { () throws(EvaluationFailure) in try logic.evaluate(on: state) }
                switch (one, other) {
                case (.success(let a), .success(let b)):
                    answers += 1
                    #expect(a.encoded == b.encoded, "\(rule.text) on \(state)")
                case (.failure, .failure): failures += 1
                // `&&` and `exists` look at what comes behind a failure, JsonLogic ends; a double may be infinite in between.
                case (.success, .failure): failures += 1
                case (.failure(let failure), .success):
                    Issue.record("\(rule.text) on \(state) fails alone: \(failure)")
                }
            }
        }
        #expect(answers > 80_000 && answers + failures == 100_000)
    }
}
