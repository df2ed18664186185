import BusJSON
import BusLogic
import BusProtocol
import TestSupport
import Testing

/// Whatever a definition says, its evaluation ends soon.
struct BudgetTests {
    private static let doubling =
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"

    @Test func doublingATextEndsAtTheBytes() throws {
        let rule =
            #"{"reduce":[\#(Self.doubling),{"cat":[{"var":"accumulator"},{"var":"accumulator"}]},"x"]}"#
        try #expect(failure(of: rule) == .bytes)
    }

    @Test func doublingAnArrayEndsAtTheBytes() throws {
        let twice = #"{"merge":[{"var":"accumulator"},{"var":"accumulator"}]}"#
        try #expect(failure(of: #"{"reduce":[\#(Self.doubling),\#(twice),[1]]}"#) == .bytes)
    }

    /// The value shares its halves and takes no memory, but its encoding would be astronomically long.
    @Test func sharedPartsAreCountedAsOftenAsTheyAreWritten() throws {
        let twice = #"[{"var":"accumulator"},{"var":"accumulator"}]"#
        try #expect(failure(of: #"{"reduce":[\#(Self.doubling),\#(twice),1]}"#) == .bytes)
        let member = #"{"a":{"var":"accumulator"},"b":{"var":"accumulator"}}"#
        try #expect(failure(of: #"{"reduce":[\#(Self.doubling),\#(member),1]}"#) == .bytes)
        let merged = #"{"merge":[[{"var":"accumulator"}],[{"var":"accumulator"}]]}"#
        try #expect(failure(of: #"{"reduce":[\#(Self.doubling),\#(merged),1]}"#) == .bytes)
        let mapped = #"{"map":[[1,2],{"literal":["\#(String(repeating: "x", count: 1000))"]}]}"#
        try #expect(failure(of: mapped, on: [1], budget: Budget(operations: 100, bytes: 1500)) == .bytes)
    }

    @Test func nestingEndsAtTheDepth() throws {
        let list = JSON.array(Array(repeating: 1, count: 100))
        try #expect(failure(of: #"{"reduce":[{"var":""},[{"var":"accumulator"}],1]}"#, on: list) == .tooDeep)
    }

    /// All data of a reduction, gathered again with each element: without a bound its end needs more stack than there is.
    @Test func gatheringAllDataEndsAtTheDepth() throws {
        let list = JSON.array(Array(repeating: 1, count: 50_000))
        try SmallStack.run {
            for body in [#"{"var":""}"#, #"{"if":[true,{"val":[]}]}"#, #"{"reduce":[[1],{"val":[[2]]},0]}"#] {
                try #expect(
                    failure(of: #"{"reduce":[{"var":""},\#(body),1]}"#, on: list) == .tooDeep, "\(body)")
            }
        }
    }

    @Test func nestedIterationsEndAtTheOperations() throws {
        let list = JSON.array(Array(repeating: 1, count: 1000))
        var body = #"{"var":""}"#
        for _ in 0..<3 { body = #"{"map":[{"literal":\#(list)},\#(body)]}"# }
        let budget = Budget(operations: 100_000, bytes: 1 << 30)
        try #expect(failure(of: body, on: list, budget: budget) == .operations)
    }

    @Test func comparingManyLongTextsEndsAtTheOperations() throws {
        let long = String(repeating: "a", count: 1 << 20)
        let data: JSON = [
            "text": .string(long + "b"), "list": .array(Array(repeating: .string(long + "c"), count: 1000)),
        ]
        try #expect(failure(of: #"{"in":[{"var":"text"},{"var":"list"}]}"#, on: data) == .operations)
    }

    /// Whatever looks for a number in a text, and whatever compares keys, ends by the bytes: ten thousand such operations on a
    /// text of a megabyte are ten thousand megabytes.
    @Test func readingLongTextsEndsAtTheBytesRead() throws {
        let count = 1 << 18
        let longKey = String(repeating: "k", count: count)
        let data: JSON = [
            "list": .array(Array(repeating: 1, count: 5000)),
            "digits": .string(String(repeating: "1", count: count)),
            "spaces": .string(String(repeating: " ", count: count)),
            "hex": .string("0x" + String(repeating: "0", count: count)),
            "keyed": .object([longKey: 1]), "other": .object([longKey + "": 2]), "inside": .object(["a": 1]),
        ]
        func text(_ name: String) -> String { #"{"val":[[2],"\#(name)"]}"# }
        var bodies = ["digits", "spaces", "hex"].flatMap { name in
            ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "max", "min"].map {
                #"{"\#($0)":[\#(text(name)),1]}"#
            } + ["abs", "round", "floor", "ceil", "format", "-"].map { #"{"\#($0)":[\#(text(name))]}"# }
        }
        bodies += [
            #"{"==":[true,[[\#(text("digits"))]]]}"#, #"{"substr":["abc",\#(text("digits"))]}"#,
            #"{"missing_some":[\#(text("digits")),["a"]]}"#,
            #"{"===":[\#(text("keyed")),\#(text("other"))]}"#,
            #"{"in":[\#(text("keyed")),[\#(text("other"))]]}"#,
            #"{"val":[[2],"inside",\#(text("digits"))]}"#, #"{"var":\#(text("digits"))}"#,
        ]
        let budget = Budget(operations: 100_000, bytes: 4 << 20, reading: 2 << 20)
        for body in bodies {
            // What means no number fails first, and is looked for again.
            let rule = #"{"filter":[{"var":"list"},{"try":[\#(body),false]}]}"#
            let failure = try failure(of: rule, on: data, budget: budget)
            #expect(failure == .reading || failure == .operations || failure == .bytes, "\(body): \(failure)")
        }
        // Short ones are part of the operation.
        let short = JSON.object(["list": .array(Array(repeating: "12", count: 5000))])
        try #expect(
            evaluate(
                #"{"length":{"filter":[{"var":"list"},{"==":[{"var":""},12]}]}}"#, on: short,
                budget: Budget(operations: 100_000, bytes: 4 << 20, reading: 0)) == 5000)
    }

    /// Which computed values there are must not depend on it: a log replays without it.
    @Test func whatIsReadIsTheCommitsAlone() throws {
        let yaml = """
            type: reader
            initial: { text: "", count: 0 }
            computed: { twice: { "+": [{ var: text }, { var: text }] } }
            actions:
              put: { payload: { text: string }, set: { text: { var: payload.text } } }
            """
        let long = String(repeating: "0", count: 1000) + "21"
        var budget = Budget.ofStore
        budget.reading = 2004
        let enough = try StoreBench(yaml, commit: budget)
        try enough.dispatch("put", ["text": .string(long)])
        #expect(enough.state["twice"] == 42)
        budget.reading = 2003
        let tight = try StoreBench(yaml, commit: budget)
        let rejection = try tight.rejection(of: "put", ["text": .string(long)])
        #expect(rejection.message == "reader/kitchen refused put: the commit's budget is used up at twice.")
        #expect(tight.state["text"] == "")
        let replaying = try StoreBench(yaml)
        try replaying.dispatch("put", ["text": .string(long)])
        #expect(replaying.state == enough.state)
        // A state that a client creates spends, too.
        let failure = #expect(throws: PayloadFailure.self) {
            try tight.type.state(["text": .string(long)], from: .request, spending: &budget)
        }
        #expect(failure?.message.contains("the commit's budget is used up at twice") == true)
    }

    @Test func searchingAHardTextEndsAtTheOperations() throws {
        let data: JSON = [
            "hay": .string(String(repeating: "a", count: 1 << 20)),
            "needle": .string(String(repeating: "a", count: 1 << 19) + "b"),
        ]
        try #expect(failure(of: #"{"in":[{"var":"needle"},{"var":"hay"}]}"#, on: data) == .operations)
    }

    @Test func newTextsEndAtTheBytes() throws {
        let text = JSON.string(String(repeating: "a,", count: 1000))
        let budget = Budget(operations: 100_000, bytes: 1500)
        for rule in [
            #"{"upper":{"var":""}}"#, #"{"split":[{"var":""},","]}"#, #"{"split":[{"var":""},""]}"#,
            #"{"replace":[{"var":""},"a","bb"]}"#, #"{"trim":{"var":""}}"#,
        ] {
            try #expect(failure(of: rule, on: text, budget: budget) == .bytes, "\(rule)")
        }
        let list = JSON.array(Array(repeating: "ab", count: 1000))
        for rule in [
            #"{"join":[{"var":""},""]}"#, #"{"join":[{"map":[{"var":""},""]},"abc"]}"#,
            #"{"sort":{"var":""}}"#, #"{"group":[{"var":""},{"var":""}]}"#,
        ] {
            try #expect(failure(of: rule, on: list, budget: budget) == .bytes, "\(rule)")
        }
        let object = JSON.object(["k": .array(Array(repeating: 1, count: 200))])
        // What is inside of elements is written out as often as they stand there.
        let rows = JSON.object(["rows": [.array(Array(repeating: 1, count: 200))]])
        try #expect(failure(of: #"{"group":[{"var":"rows"},"x"]}"#, on: rows, budget: budget) == .bytes)
        for name in ["values", "entries"] {
            try #expect(
                failure(of: #"{"\#(name)":{"var":""}}"#, on: object, budget: budget) == .bytes, "\(name)")
        }
    }

    @Test func newWorkEndsAtTheOperations() throws {
        let budget = Budget(operations: 500, bytes: 1 << 20)
        let text = JSON.string(String(repeating: "a,", count: 5000))
        for rule in [
            #"{"lower":{"var":""}}"#, #"{"trim":{"var":""}}"#, #"{"split":[{"var":""},","]}"#,
            #"{"replace":[{"var":""},"a",""]}"#, #"{"length":{"var":""}}"#, #"{"duration":{"var":""}}"#,
        ] {
            try #expect(failure(of: rule, on: text, budget: budget) == .operations, "\(rule)")
        }
        let list = JSON.array((0..<400).map { .int(($0 * 7919) % 400) })
        for rule in [
            #"{"sort":{"var":""}}"#, #"{"group":[{"var":""},{"var":""}]}"#,
            #"{"+":{"merge":[{"var":""},{"var":""}]}}"#,
        ] {
            try #expect(failure(of: rule, on: list, budget: budget) == .operations, "\(rule)")
        }
    }

    /// Each step puts what was there one level deeper, without an array or object that stands in the expression.
    @Test func nestingByGroupsEndsAtTheDepth() throws {
        let deeper = [
            #"{"values":{"group":[{"var":"accumulator"},"x"]}}"#,
            #"{"entries":{"group":[{"var":"accumulator"},"x"]}}"#,
        ]
        let list = JSON.array(Array(repeating: 1, count: 200))
        for rule in deeper {
            try #expect(
                failure(of: #"{"reduce":[{"var":""},\#(rule),[1]]}"#, on: list) == .tooDeep, "\(rule)")
        }
    }

    @Test func aBombInAnActionIsRejectedAndChangesNothing() throws {
        let bench = try StoreBench(
            """
            type: bomb
            initial: { list: [1, 2, 3], text: "" }
            actions:
              explode:
                set:
                  text: { reduce: [{ literal: \(Self.doubling) }, { cat: [{ var: accumulator }, { var: accumulator }] }, x] }
            """)
        let rejection = try bench.rejection(of: "explode")
        #expect(
            rejection.message
                == "bomb/kitchen refused explode: in set text, its expressions produce more bytes than the budget allows."
        )
        #expect(rejection.path == "text")
    }

    @Test func aStoreSpendsAtMostItsOwnShare() throws {
        let yaml = """
            type: sum
            initial: { total: 0 }
            actions:
              add: { payload: { list: array }, set: { total: { reduce: [{ var: payload.list }, { "+": [{ var: current }, { var: accumulator }] }, 0] } } }
            """
        let list: JSONObject = ["list": .array(Array(repeating: 2, count: 100))]
        let roomy = try StoreBench(yaml)
        try roomy.dispatch("add", list)
        #expect(roomy.state["total"] == 200)
        // The list, and for each element itself, the sum and two reads.
        #expect(roomy.spent.operations == 2 + 100 * 4)
        let tight = try StoreBench(yaml, store: Budget(operations: 401, bytes: 1000))
        #expect(try tight.rejection(of: "add", list).message.contains("more operations than the budget"))
        let tightCommit = try StoreBench(yaml, commit: Budget(operations: 401, bytes: 1000))
        #expect(
            try tightCommit.rejection(of: "add", list).message.contains("more operations than the budget"))
    }
}
