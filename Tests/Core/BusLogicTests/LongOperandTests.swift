import BusJSON
import BusLogic
import BusProtocol
import TestFiles
import Testing

/// Every operator and every function with operands as long as they may be: done over and over, it ends at a budget, or it is one
/// of those that look at no part of their operands. A new one stands in neither list, and is noticed.
struct LongOperandTests {
    private static let length = 1 << 18
    private static let data: JSON = {
        let key = String(repeating: "k", count: length)
        let list = (0..<5000).map { JSON.int($0) }
        return [
            "list": .array(list), "digits": .string(String(repeating: "1", count: length)),
            "spaces": .string(String(repeating: " ", count: length)),
            "needle": .string(String(repeating: "1", count: length / 2) + "2"),
            "words": .array(list.map { .string("w\($0)") }),
            "keyed": .object([key: 1]), "inside": ["a": 1],
            "many": .object(list.reduce(into: JSONObject()) { $0["m\($1)"] = $1 }),
        ]
    }()

    /// A commit has forty times as many operations, and eight times as many bytes to read.
    private static let budget = Budget(operations: 100_000, bytes: 4 << 20, reading: 2 << 20)

    private static func root(_ name: String) -> String { #"{"val":[[2],"\#(name)"]}"# }
    private static let (digits, list, many) = (root("digits"), root("list"), root("many"))

    /// Operands for each operator that looks at them.
    private static let operands: [String: [String]] = {
        var table: [String: [String]] = [
            "var": [digits], "val": [#"[[2],"inside",\#(digits)]"#],
            "exists": [#"[[2],"inside",\#(digits)]"#],
            "missing": ["[\(digits)]"], "missing_some": [#"[\#(digits),["a"]]"#, #"[1,[\#(digits)]]"#],
            "in": [#"[\#(root("needle")),\#(digits)]"#, "[-1,\(list)]", "[\(digits),[\(digits)]]"],
            "cat": ["[\(digits),\(digits)]"], "substr": ["[\(digits),1]", #"["abc",\#(digits)]"#],
            "split": [#"[\#(digits),"1"]"#], "join": [#"[\#(root("words")),","]"#],
            "replace": [#"[\#(digits),"1","22"]"#, #"[\#(digits),"2",""]"#], "merge": ["[\(list),\(list)]"],
            "map": ["[\(list),1]"], "filter": ["[\(list),true]"], "all": ["[\(list),true]"],
            "none": ["[\(list),false]"], "some": ["[\(list),false]"], "reduce": ["[\(list),1,0]"],
            "sort": ["[\(list)]"], "group": [#"[\#(list),"x"]"#], "length": [digits],
            "keys": [many], "values": [many], "entries": [many], "trim": [root("spaces")],
            "object": [#"{"k":\#(digits)}"#],
        ]
        for name in ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "max", "min"] {
            table[name] = ["[\(digits),1]"]
        }
        for name in ["===", "!=="] { table[name] = ["[\(digits),\(digits)]"] }
        for name in ["abs", "round", "floor", "ceil", "format", "duration", "lower", "upper"] {
            table[name] = [digits]
        }
        return table
    }()

    /// These pass a value on or look only whether there is one, or are the same whatever comes.
    private static let constant: Set<String> = [
        "if", "?:", "!", "!!", "or", "and", "??", "try", "throw", "log", "literal", "preserve",
    ]

    @Test func everyOperatorEndsAtABudget() throws {
        #expect(Set(Self.operands.keys).isDisjoint(with: Self.constant))
        #expect(Set(Self.operands.keys).union(Self.constant) == Set(Expression.operators))
        for (name, forms) in Self.operands.sorted(by: { $0.key < $1.key }) {
            for form in forms {
                let rule = #"{"filter":[{"var":"list"},{"try":[{"\#(name)":\#(form)},false]}]}"#
                let expression = try Expression.compile(JSON(parsing: rule))
                Self.expectEnd(of: expression, "\(name): \(form)")
            }
        }
    }

    /// Calls of each function that looks at its operands.
    private static let calls: [String: [String]] = [
        "size": ["size(digits)"], "int": ["int(digits)"], "double": ["double(digits)"],
        "reverse": ["digits.reverse()", "list.reverse()"], "sort": ["list.sort()"],
        "distinct": ["list.distinct()"], "slice": ["list.slice(0, 5000)"], "flatten": ["[list].flatten()"],
        "lists.range": ["lists.range(5000)"], "sum": ["sum(list)"], "keys": ["keys(many)"],
        "values": ["values(many)"], "merge": ["many.merge(many)"],
        "without": [#"many.without(["m1"])"#, "list.without(1)"],
        "contains": ["digits.contains(needle)"], "startsWith": ["digits.startsWith(digits)"],
        "endsWith": ["digits.endsWith(digits)"], "charAt": ["digits.charAt(262143)"],
        "indexOf": ["digits.indexOf(needle)"], "lastIndexOf": ["digits.lastIndexOf(needle)"],
        "join": [#"words.join(",")"#], "lowerAscii": ["digits.lowerAscii()"],
        "upperAscii": ["digits.upperAscii()"], "replace": [#"digits.replace("1", "22")"#],
        "split": [#"digits.split("1")"#], "substring": ["digits.substring(1)"], "trim": ["spaces.trim()"],
        "format": [#""%s".format([digits])"#], "strings.quote": ["strings.quote(digits)"],
        "all": ["list.all(y, true)"], "exists": ["list.exists(y, false)"],
        "exists_one": ["list.exists_one(y, true)"], "existsOne": ["list.existsOne(i, y, true)"],
        "map": ["list.map(y, y)"], "filter": ["list.filter(y, true)"], "sortBy": ["list.sortBy(y, y)"],
        "transformList": ["list.transformList(i, y, y)"], "transformMap": ["many.transformMap(k, v, v)"],
        "transformMapEntry": ["many.transformMapEntry(k, v, {k: v})"],
    ]

    /// These look at a number, at one element, or at whether there is a value.
    private static let shortCalls: Set<String> = [
        "string", "bool", "dyn", "has", "cel.bind", "optional.of", "optional.none",
        "optional.ofNonZeroValue", "orValue", "or", "value", "hasValue", "optMap", "optFlatMap", "first",
        "last",
    ]

    @Test func everyFunctionEndsAtABudget() throws {
        #expect(Set(Self.calls.keys).isDisjoint(with: Self.shortCalls))
        let others = Set(Expression.functions).subtracting(Self.shortCalls).filter { !$0.hasPrefix("math.") }
        #expect(Set(Self.calls.keys) == others)
        for (name, calls) in Self.calls.sorted(by: { $0.key < $1.key }) {
            for call in calls {
                let text = "list.all(x, dyn(\(call)) == null || x >= 0)"
                Self.expectEnd(of: try Expression.compile(text: text, names: .members), "\(name): \(call)")
            }
        }
    }

    private static func expectEnd(of expression: Expression, _ comment: String) {
        do throws(EvaluationFailure) {
            let value = try expression.evaluate(on: data, budget: budget)
            Issue.record("\(comment) comes to \(value.encoded.prefix(40))")
        } catch {
            #expect([.operations, .bytes, .reading].contains(error), "\(comment): \(error)")
        }
    }

    /// The attacks of the load generator leave none of them out, and no member of a request.
    @Test func theAttacksHaveEveryOperatorAndMember() throws {
        let text = try Repository.text("Tests/Bench/fluxbus-bench/Hostile/Attack+Operands.swift")
        let words = Set(text.split { "\" \n".contains($0) }.map(String.init))
        for name in Expression.operators {
            #expect(words.contains(name), "no attack has the operator \(name)")
        }
        for member in Member.allCases {
            // A line with nothing but the long value behind its name.
            let isThere = try text.contains(Regex(#""\#(member.name)":[^,\n]*~"#))
            #expect(isThere, "no attack has a long \(member.name)")
        }
    }
}
